raft {
  advertise        = "ctl-1:6821"
  peers            = ["ctl-1:6821", "ctl-2:6821", "ctl-1:6821", "ctl-3"]
  bootstrap_expect = 9
}
