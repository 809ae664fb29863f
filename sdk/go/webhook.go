// Package tierway is for a studio's own backend: it tells whether a login webhook was sent by Tierway.
//
// Tierway posts {"customData": …} to the studio's endpoint and signs the bytes of that body with the provider's secret.
// VerifyWebhookSignature checks the header X-Signature, VerifyStandardWebhook the Standard Webhooks headers, which also
// say when a request was made. One of the two is enough to know the sender.
package tierway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader carries what VerifyWebhookSignature checks.
const SignatureHeader = "X-Signature"

// The Standard Webhooks headers. IDHeader is the same on all attempts of one login; TimestampHeader is when the attempt
// was made, in seconds since 1970.
const (
	IDHeader                = "Webhook-Id"
	TimestampHeader         = "Webhook-Timestamp"
	StandardSignatureHeader = "Webhook-Signature"
)

// DefaultTolerance is how far from now VerifyStandardWebhook lets a timestamp be, in either direction.
const DefaultTolerance = 5 * time.Minute

const (
	encodedSecret      = "whsec_"
	maxTimestampDigits = 15
)

// VerifyWebhookSignature reports whether signature, the value of X-Signature, is that of body: the lowercase hex
// HMAC-SHA256 of its bytes, keyed with the bytes of secret. Give it the body as it was received, not JSON that was
// decoded and encoded again.
//
// It is false for a signature that is missing, too short or long, upper-case or no hex at all, and for an empty secret:
// a variable that somebody forgot to set must not let everyone in. It compares in constant time and never panics.
func VerifyWebhookSignature(secret string, body []byte, signature string) bool {
	if secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}

// VerifyStandardWebhook reports whether one of the signatures in the header webhook-signature is that of body together
// with webhook-id and webhook-timestamp, and whether that timestamp is within DefaultTolerance of now. Unlike with
// X-Signature alone, a request that was recorded does not verify for ever. Within the tolerance it does, and an attempt
// that is made again has the same id: answer that one as before.
//
// A secret of the form whsec_<base64> is keyed with the bytes that it encodes, any other with its own bytes. The answer
// is false for every header that is missing, repeated or malformed, and for an empty secret. It compares in constant
// time and never panics.
func VerifyStandardWebhook(secret string, body []byte, header http.Header) bool {
	return VerifyStandardWebhookAt(secret, body, header, time.Now(), DefaultTolerance)
}

// VerifyStandardWebhookAt is VerifyStandardWebhook at another time than now, and with a tolerance of your own. Both
// times are compared in whole seconds.
func VerifyStandardWebhookAt(
	secret string, body []byte, header http.Header, now time.Time, tolerance time.Duration,
) bool {
	id, timestamp := only(header, IDHeader), only(header, TimestampHeader)
	signatures := only(header, StandardSignatureHeader)
	// A full stop in the id would leave open where it ends.
	if secret == "" || id == "" || strings.Contains(id, ".") {
		return false
	}
	sent, ok := parseTimestamp(timestamp)
	if !ok {
		return false
	}
	age := now.Unix() - sent
	if age < 0 {
		age = -age
	}
	// In seconds, as a duration could not hold the distance of every timestamp. A tolerance below zero allows nothing.
	if tolerance < 0 || age > int64(tolerance/time.Second) {
		return false
	}

	mac := hmac.New(sha256.New, standardKey(secret))
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// Several while a secret is being replaced. All are compared, so that time does not tell which one it was.
	matches := false
	for _, signature := range strings.Split(signatures, " ") {
		if hmac.Equal(expected, []byte(signature)) {
			matches = true
		}
	}
	return matches
}

// only gives the value of a header that was sent once, or nothing.
func only(header http.Header, name string) string {
	if values := header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// parseTimestamp takes digits alone: strconv would also take a sign.
func parseTimestamp(text string) (int64, bool) {
	if len(text) == 0 || len(text) > maxTimestampDigits || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return seconds, err == nil
}

// standardKey takes an encoded secret that is not valid base64, with its padding, as it stands; and so one that encodes
// nothing.
func standardKey(secret string) []byte {
	encoded := strings.TrimPrefix(secret, encodedSecret)
	// The decoder passes over line breaks.
	if encoded == "" || encoded == secret || strings.ContainsAny(encoded, "\r\n") {
		return []byte(secret)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return []byte(secret)
	}
	return key
}
