package tierway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// vectorsFile is shared with the helper for Node. It names the origin of its signatures.
const vectorsFile = "../webhook-vectors.json"

type vector struct {
	Name       string
	Secret     string
	Body       string
	BodyBase64 []byte
	Signature  *string
	Valid      bool

	// Only for the Standard Webhooks headers.
	ID               *string
	Timestamp        *string
	Now              int64
	ToleranceSeconds int64
}

func (v vector) body() []byte {
	if v.BodyBase64 != nil {
		return v.BodyBase64
	}
	return []byte(v.Body)
}

func readVectors(t testing.TB) (signature, standard []vector) {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct{ Signature, Standard []vector }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Signature) < 50 || len(vectors.Standard) < 50 {
		t.Fatalf("only %d and %d vectors", len(vectors.Signature), len(vectors.Standard))
	}
	return vectors.Signature, vectors.Standard
}

func TestVerifyWebhookSignature(t *testing.T) {
	vectors, _ := readVectors(t)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			// A missing header reads as an empty one.
			signature := ""
			if v.Signature != nil {
				signature = *v.Signature
			}
			if got := VerifyWebhookSignature(v.Secret, v.body(), signature); got != v.Valid {
				t.Errorf("got %v, want %v", got, v.Valid)
			}
		})
	}
}

func TestVerifyStandardWebhook(t *testing.T) {
	_, vectors := readVectors(t)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range map[string]*string{
				IDHeader: v.ID, TimestampHeader: v.Timestamp, StandardSignatureHeader: v.Signature,
			} {
				if value != nil {
					header.Set(name, *value)
				}
			}
			now, tolerance := time.Unix(v.Now, 0), time.Duration(v.ToleranceSeconds)*time.Second
			if got := VerifyStandardWebhookAt(v.Secret, v.body(), header, now, tolerance); got != v.Valid {
				t.Errorf("got %v, want %v", got, v.Valid)
			}
		})
	}
}

func TestVerifyStandardWebhookTakesTheTimeOfNow(t *testing.T) {
	const secret, body = "a-secret", `{"customData":{}}`
	for age, want := range map[time.Duration]bool{
		0: true, -4 * time.Minute: true, 4 * time.Minute: true, 6 * time.Minute: false, -6 * time.Minute: false,
	} {
		header := signed(secret, "msg_1", fmt.Sprint(time.Now().Add(-age).Unix()), body)
		if got := VerifyStandardWebhook(secret, []byte(body), header); got != want {
			t.Errorf("%v old: got %v, want %v", age, got, want)
		}
	}
}

func TestVerifyStandardWebhookRefusesRepeatedHeaders(t *testing.T) {
	const secret, body = "a-secret", `{"customData":{}}`
	for _, name := range []string{IDHeader, TimestampHeader, StandardSignatureHeader} {
		header := signed(secret, "msg_1", "1797415200", body)
		header.Add(name, header.Get(name))
		if VerifyStandardWebhookAt(secret, []byte(body), header, time.Unix(1797415200, 0), DefaultTolerance) {
			t.Errorf("%s sent twice was taken", name)
		}
	}
}

func TestVerifyTakesNil(t *testing.T) {
	if VerifyWebhookSignature("a-secret", nil, "") || VerifyStandardWebhook("a-secret", nil, nil) {
		t.Error("nothing was taken for a signature")
	}
}

func signed(secret, id, timestamp, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	header := http.Header{}
	header.Set(IDHeader, id)
	header.Set(TimestampHeader, timestamp)
	header.Set(StandardSignatureHeader, "v1,"+base64Of(mac.Sum(nil)))
	return header
}

func base64Of(bytes []byte) string {
	// Through JSON, so that a fault in the encoding of the tested code shows.
	text, _ := json.Marshal(bytes)
	return strings.Trim(string(text), `"`)
}

// For any input, only the signature itself is accepted, in its one form.
// Run with: go test -fuzz FuzzVerifyWebhookSignature
func FuzzVerifyWebhookSignature(f *testing.F) {
	vectors, _ := readVectors(f)
	for _, v := range vectors {
		if v.Signature != nil {
			f.Add(v.Secret, v.body(), *v.Signature)
		}
	}
	f.Fuzz(func(t *testing.T, secret string, body []byte, signature string) {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		right := fmt.Sprintf("%x", mac.Sum(nil))
		isSecret := secret != "" && !strings.HasPrefix(secret, publicKeyPrefix)
		if got, want := VerifyWebhookSignature(secret, body, signature), isSecret && signature == right; got != want {
			t.Errorf("%q: got %v, want %v", signature, got, want)
		}
		if got, want := VerifyWebhookSignature(secret, body, right), isSecret; got != want {
			t.Errorf("the right signature: got %v, want %v", got, want)
		}
		if VerifyWebhookSignature(secret, append(body[:len(body):len(body)], 0), right) {
			t.Error("another body was taken")
		}
	})
}

// Run with: go test -fuzz FuzzVerifyStandardWebhook
func FuzzVerifyStandardWebhook(f *testing.F) {
	_, vectors := readVectors(f)
	for _, v := range vectors {
		if v.ID != nil && v.Timestamp != nil && v.Signature != nil {
			f.Add(v.Secret, v.body(), *v.ID, *v.Timestamp, *v.Signature, v.Now)
		}
	}
	f.Fuzz(func(t *testing.T, secret string, body []byte, id, timestamp, signature string, now int64) {
		header := http.Header{IDHeader: {id}, TimestampHeader: {timestamp}, StandardSignatureHeader: {signature}}
		if !VerifyStandardWebhookAt(secret, body, header, time.Unix(now, 0), DefaultTolerance) {
			return
		}
		// An accepted request is refused under another id, at another time, with another body or much later.
		for what, other := range map[string]http.Header{
			"id":        {IDHeader: {id + "x"}, TimestampHeader: {timestamp}, StandardSignatureHeader: {signature}},
			"timestamp": {IDHeader: {id}, TimestampHeader: {"0" + timestamp}, StandardSignatureHeader: {signature}},
		} {
			if VerifyStandardWebhookAt(secret, body, other, time.Unix(now, 0), DefaultTolerance) {
				t.Errorf("another %s was taken", what)
			}
		}
		longer := append(body[:len(body):len(body)], 0)
		if VerifyStandardWebhookAt(secret, longer, header, time.Unix(now, 0), DefaultTolerance) {
			t.Error("another body was taken")
		}
		if VerifyStandardWebhookAt(secret, body, header, time.Unix(now+601, 0), DefaultTolerance) {
			t.Error("a request of long ago was taken")
		}
	})
}
