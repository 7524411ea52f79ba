package plugin

import _ "embed"

//go:embed embedded/backfill.wasm
var embedded []byte

// Embedded returns the module of plugins/policy/backfill, the policy that a controller
// starts with and falls back to. `make plugins` builds it. The caller must not change it.
func Embedded() []byte { return embedded }
