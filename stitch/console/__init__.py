"""What all commands share: options, printing, how they end."""
