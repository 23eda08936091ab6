"""The only limit of time in these tests."""

# Seconds after which something hangs. It is there to turn a hang into a failure: no test expects anything to happen
# within it on a machine that is slow or busy, and none waits for time to pass.
HANG = 600
