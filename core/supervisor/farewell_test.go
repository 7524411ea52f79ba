package supervisor

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestChildThatSaidFarewellAndStaysIsOverdueAfterASecond(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	began := time.Now()
	late := overdue(reader)
	if _, err := writer.Write([]byte{70}); err != nil {
		t.Fatal(err)
	}
	if code := <-late; code != 70 || time.Since(began) < farewellTime {
		t.Errorf("code %d after %v, want 70 after %v", code, time.Since(began), farewellTime)
	}
}

func TestChildThatEndsWithoutAWordIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		late := overdue(reader)
		writer.Close()
		time.Sleep(2 * farewellTime)
		synctest.Wait()
		select {
		case code := <-late:
			t.Errorf("overdue with code %d", code)
		default:
		}
	})
}
