nmae = "ctl-1"
listen = ":6817"
raft = {}
cluster { }
hearth {}

api "main" { }

raft {
  lisen = ":6821"
  retention = "1h"
}
raft { }
log { level = "inof" }
