"""`sampo doctor`: everything about a run that can be checked before it costs GPU time.

Start at `examination.py`. Nothing is imported here, because worker processes import
`sampo.doctor.runaway_env` and shall start without torch.
"""
