"""Learning from reward: IMPALA with V-trace (sec. 5.2, app. B.2)."""
