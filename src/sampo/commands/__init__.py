"""What the trainer's own subcommands do; their options are the signatures in `sampo.trainer`."""
