// Package sdk is what the author of a plugin imports. It is compiled into the guest, so
// it depends on the standard library only and keeps clear of encoding/json and reflection-heavy
// packages, which would double a guest's size and start-up time.
//
// A policy registers itself once and is then called for each scheduling cycle:
//
//	package main
//
//	import (
//		"github.com/rowelhq/rowel/sdk"
//		"github.com/rowelhq/rowel/sdk/backfill"
//	)
//
//	func init() {
//		sdk.Policy(sdk.Info{Name: "mine", Version: "1.0.0"}, backfill.EASY)
//	}
//
//	func main() {}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o mine.wasm .
//
// The same schedule function runs natively under go test: see Run and package sdktest.
// The files named _wasip1 are the guest's side of the ABI; the rest is ordinary Go.
package sdk
