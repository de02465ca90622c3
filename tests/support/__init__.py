"""What the tests share: builders of small traces, and slow readers that agree with nobody's code but their own."""
