package wire

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowelhq/rowel/core"
)

// TestRandomValuesComeBackWhole fills every field of core's records by reflection, so
// that a field which the mapping forgets is found.
func TestRandomValuesComeBackWhole(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		var job core.Job
		fill(r, reflect.ValueOf(&job).Elem())
		check(t, &job, func() (*core.Job, error) { return ToJob(FromJob(&job)) })
		var node core.Node
		fill(r, reflect.ValueOf(&node).Elem())
		check(t, &node, func() (*core.Node, error) { return ToNode(FromNode(&node)) })
		for _, command := range []core.Command{
			core.SubmitJobs{},
			core.CancelJobs{},
			core.ApplyPlan{},
			core.ReportJobs{},
			core.RegisterNode{},
			core.DrainNode{},
			core.MarkNodes{},
			core.Forget{},
			core.AnnounceMember{},
		} {
			filled := reflect.New(reflect.TypeOf(command)).Elem()
			fill(r, filled)
			command = filled.Interface().(core.Command)
			check(t, command, func() (core.Command, error) {
				data, err := EncodeCommand(command)
				if err != nil {
					return nil, err
				}
				return DecodeCommand(data)
			})
		}
		if t.Failed() {
			return
		}
	}
}

func check[T any](t *testing.T, want T, back func() (T, error)) {
	t.Helper()
	got, err := back()
	if err != nil {
		t.Fatalf("%T: %v", want, err)
	}
	if diff := cmp.Diff(want, got, equalSets); diff != "" {
		t.Errorf("%T (-want +got):\n%s", want, diff)
	}
}

// fill sets v and all within it to random values that are legal for the type. An empty
// list or map stays nil, for the wire does not tell the two apart.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		if r.IntN(4) > 0 {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()))
		}
		return
	case time.Duration:
		v.SetInt(r.Int64N(1<<32) * int64(time.Second))
		return
	case core.JobState:
		v.SetUint(r.Uint64N(uint64(core.JobBootFail)) + 1)
		return
	case core.IndexSet:
		v.Set(reflect.ValueOf(randomSet(r)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*core.JobSpec]() || r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		for range r.IntN(4) {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(r, item)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		for range r.IntN(4) {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(randomText(r)), reflect.ValueOf(randomText(r)))
		}
	case reflect.String:
		v.SetString(randomText(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
	case reflect.Int32:
		v.SetInt(int64(int32(r.Uint32())))
	default:
		panic("no random " + v.Type().String())
	}
}

func randomText(r *rand.Rand) string { return string([]rune("aé日\x00z-\n")[:r.IntN(8)]) }

func randomSet(r *rand.Rand) core.IndexSet {
	var ranges []core.IndexRange
	next := uint32(0)
	for range r.IntN(4) {
		first := next + r.Uint32N(100)
		step := 1 + r.Uint32N(5)
		last := first + step*r.Uint32N(100)
		ranges = append(ranges, core.IndexRange{First: first, Last: last, Step: step})
		next = last + 1
	}
	set, err := core.NewIndexSet(ranges)
	if err != nil {
		panic(err)
	}
	return set
}

func TestToFunctionsTakeNil(t *testing.T) {
	if _, err := ToSpec(nil); core.KindOf(err) != core.Invalid || err == nil {
		t.Errorf("no spec gave %v", err)
	}
	if _, err := ToJob(nil); core.KindOf(err) != core.Invalid || err == nil {
		t.Errorf("no job gave %v", err)
	}
	if _, err := ToSubmission(nil); core.KindOf(err) != core.Invalid || err == nil {
		t.Errorf("no submission gave %v", err)
	}
	if _, err := ToReport(nil); core.KindOf(err) != core.Invalid || err == nil {
		t.Errorf("no report gave %v", err)
	}
	if node, err := ToNode(nil); err != nil || node.Name != "" {
		t.Errorf("no node gave %v, %v", node, err)
	}
	for _, got := range []any{ToMember(nil), ToJobRef(nil), *ToPayload(nil), ToRegisterNode(nil), ToResources(nil)} {
		if !reflect.ValueOf(got).IsZero() {
			t.Errorf("nil gave %#v", got)
		}
	}
}

func TestZeroTimeIsNoTimestamp(t *testing.T) {
	if ts := FromTime(time.Time{}); ts != nil {
		t.Errorf("got %v", ts)
	}
	if at, err := ToTime(nil); err != nil || !at.IsZero() {
		t.Errorf("got %v, %v", at, err)
	}
}

func TestJobStatesHaveTheSameNumbers(t *testing.T) {
	for number, name := range JobState_name {
		if number == 0 {
			continue
		}
		state, err := ToState(JobState(number))
		if err != nil || "JOB_STATE_"+state.String() != name {
			t.Errorf("%s is %v, %v", name, state, err)
		}
	}
	if len(JobState_name) != int(core.JobBootFail)+1 {
		t.Errorf("the wire has %d states", len(JobState_name)-1)
	}
}
