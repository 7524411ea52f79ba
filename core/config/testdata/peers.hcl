raft {
  advertise         = "ctl-9:6821"
  peers             = ["ctl-1:6821", "ctl-2:6821"]
  bootstrap_expect  = 3
  heartbeat_timeout = "2s"
  election_timeout  = "1s"
}
