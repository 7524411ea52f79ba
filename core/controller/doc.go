// Package controller wires one replica together and runs it. It is the only package
// that knows every other, and it decides nothing itself: which parts there are, in
// which order they start and stop, and what each gets of the others.
package controller
