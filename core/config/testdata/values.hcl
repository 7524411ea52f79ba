name     = "ctl#1"
cluster  = ""
data_dir = null
insecure = "yes"
api {
  listen    = 6817
  advertise = ":6817"
}
raft {
  listen            = "host:70000"
  advertise         = "ctl-1:0"
  heartbeat_timeout = "5"
  election_timeout  = "-1s"
  trailing_logs     = 0
  snapshot_threshold = 1.5
  stall_timeout     = var.stall
}
probes {
  listen = "127.0.0.1:6822"
}
log {
  level  = "inof"
  format = "xml"
}
agent {
  controllers = ["ctl-1:6817", 7]
  labels      = { "a b" = "c" }
  cpus        = -1
  memory      = "60GB"
  kill_wait   = "-1s"
}
plugins {
  memory   = "1KiB"
  deadline = "0s"
  strikes  = 0
  fuel     = 0
}
