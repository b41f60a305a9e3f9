-- A small bookshop. Made up; every name and number is invented.
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT, country TEXT, born INTEGER);
CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER REFERENCES authors(id), title TEXT, genre TEXT, year INTEGER, price INTEGER);
CREATE TABLE sales (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES books(id), month INTEGER, copies INTEGER);

INSERT INTO authors (name, country, born) VALUES
  ('Ada Lindt', 'Norway', 1951), ('Bruno Caro', 'Italy', 1968), ('Clara Voss', 'Austria', 1974),
  ('Dario Penna', 'Italy', 1939), ('Edda Holm', 'Norway', 1982), ('Farid Nasser', 'Egypt', 1960),
  ('Greta Sand', 'Austria', 1991), ('Hana Mori', 'Japan', 1977);

-- Five books of each author; the numbers follow from the ids.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO books (author_id, title, genre, year, price)
SELECT
  1 + i % 8,
  CASE i % 5 WHEN 0 THEN 'The Last ' WHEN 1 THEN 'A Quiet ' WHEN 2 THEN 'Under the ' WHEN 3 THEN 'Beyond the ' ELSE 'My ' END
    || CASE i % 8 WHEN 0 THEN 'Harbour' WHEN 1 THEN 'Winter' WHEN 2 THEN 'Bridge' WHEN 3 THEN 'Garden' WHEN 4 THEN 'Letter' WHEN 5 THEN 'River' WHEN 6 THEN 'Mountain' ELSE 'Clock' END,
  CASE i * i % 7 WHEN 0 THEN 'crime' WHEN 1 THEN 'history' WHEN 2 THEN 'poetry' ELSE 'novel' END,
  1985 + (i * 13) % 38,
  6 + (i * 7) % 23
FROM n;

WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m WHERE i < 12)
INSERT INTO sales (book_id, month, copies)
SELECT books.id, m.i, (books.id * 31 + m.i * 17 + books.id * m.i) % 47 FROM books, m;
