"""Where a wrong answer or a crash comes from: trace, a pass, the schedule, code generation or the call itself."""
