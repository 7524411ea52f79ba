package main

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// watchedBuffer lets a test wait for what is written.
type watchedBuffer struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func newWatchedBuffer() *watchedBuffer { return &watchedBuffer{changed: make(chan struct{})} }

func (b *watchedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
	return b.text.Write(p)
}

// until waits until the text has been written.
func (b *watchedBuffer) until(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		b.mu.Lock()
		written, changed := b.text.String(), b.changed
		b.mu.Unlock()
		if strings.Contains(written, text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("only %q was written, not %q", written, text)
		}
	}
}
