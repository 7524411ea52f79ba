name = "ctl-1"
raft { listen = ":6821" advertise = "x:1" }
