// Package structure has only tests: they hold the source tree to the floors of
// docs/architecture.md and to the rules that no compiler knows.
package structure
