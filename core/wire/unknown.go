package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// UnknownFieldError says that a message in the log or in a snapshot holds something
// that this version of Rowel does not know: it was written by a newer one.
type UnknownFieldError struct {
	Message protoreflect.FullName
	Field   protowire.Number // 0: the message that must choose a kind has none
}

// Error returns the sentence for the operator.
func (e *UnknownFieldError) Error() string {
	if e.Field == 0 {
		return fmt.Sprintf("%s is empty: it names nothing that this version knows", e.Message)
	}
	return fmt.Sprintf("%s has field %d, which this version does not know: run the version that wrote it, or a newer one",
		e.Message, e.Field)
}

// RefuseUnknownFields returns an *UnknownFieldError if message, or any message in it,
// holds a field that this version does not know. Protobuf would drop such a field
// quietly, and this replica would then differ from those that know it.
func RefuseUnknownFields(message proto.Message) error {
	return refuseUnknown(message.ProtoReflect())
}

func refuseUnknown(m protoreflect.Message) error {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return &UnknownFieldError{Message: m.Descriptor().FullName(), Field: number}
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() || field.Message() == nil: // no map of ours holds messages
		case field.IsList():
			list := value.List()
			for i := 0; i < list.Len() && err == nil; i++ {
				err = refuseUnknown(list.Get(i).Message())
			}
		default:
			err = refuseUnknown(value.Message())
		}
		return err == nil
	})
	return err
}
