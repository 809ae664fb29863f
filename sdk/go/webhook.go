// Package tierway is for a studio's own backend and game servers: it checks that Tierway sent a login webhook, and
// verifies access tokens of players (TokenVerifier).
//
// Tierway posts {"customData": …} to the studio's endpoint and signs the bytes of that body with the provider's secret.
// VerifyWebhookSignature checks the header X-Signature, VerifyStandardWebhook the Standard Webhooks headers, which also
// have the time of the request. Either is enough to prove the sender.
package tierway

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader is the header of the signature for VerifyWebhookSignature.
const SignatureHeader = "X-Signature"

// The Standard Webhooks headers. IDHeader is the same on all attempts of one login; TimestampHeader is the time of the
// attempt, in seconds since 1970.
const (
	IDHeader                = "Webhook-Id"
	TimestampHeader         = "Webhook-Timestamp"
	StandardSignatureHeader = "Webhook-Signature"
)

// DefaultTolerance is the largest distance of a timestamp from now that VerifyStandardWebhook accepts, either way.
const DefaultTolerance = 5 * time.Minute

const (
	encodedSecret      = "whsec_"
	maxTimestampDigits = 15
)

// VerifyWebhookSignature reports whether signature, the value of X-Signature, is that of body: the lowercase hex
// HMAC-SHA256 of its bytes, keyed with the bytes of secret. Pass the body as it was received, not JSON that was decoded
// and encoded again.
//
// It is false for a signature that is missing, too short or long, upper-case or not hex, and for an empty secret: a
// variable that is not set must not accept every request. It compares in constant time and never panics.
func VerifyWebhookSignature(secret string, body []byte, signature string) bool {
	// A public key is no secret: everybody could sign with it.
	if secret == "" || strings.HasPrefix(secret, publicKeyPrefix) {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}

// VerifyStandardWebhook reports whether one of the signatures in the header webhook-signature is that of body together
// with webhook-id and webhook-timestamp, and whether that timestamp is within DefaultTolerance of now. Unlike with
// X-Signature alone, a recorded request is valid only within the tolerance. A repeated attempt of a login has the same
// id: give it the same answer.
//
// For a secret of the form whsec_<base64>, the key is the decoded bytes, for any other its own bytes. The result is false
// for every header that is missing, repeated or malformed, and for an empty secret. It compares in constant time and
// never panics.
//
// Instead of the secret, pass the provider's public key, whpk_…, to verify the Ed25519 signatures, v1a: the endpoint then
// holds nothing with which it could sign.
func VerifyStandardWebhook(secret string, body []byte, header http.Header) bool {
	return VerifyStandardWebhookAt(secret, body, header, time.Now(), DefaultTolerance)
}

// VerifyStandardWebhookAt is VerifyStandardWebhook for another time than now and a tolerance of your own. It compares
// the times in whole seconds.
func VerifyStandardWebhookAt(
	secret string, body []byte, header http.Header, now time.Time, tolerance time.Duration,
) bool {
	id, timestamp := only(header, IDHeader), only(header, TimestampHeader)
	signatures := only(header, StandardSignatureHeader)
	// With a full stop in the id, its end in the signed text would be ambiguous.
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
	// In seconds, as a duration could not hold the distance of every timestamp. A negative tolerance refuses all.
	if tolerance < 0 || age > int64(tolerance/time.Second) {
		return false
	}

	if strings.HasPrefix(secret, publicKeyPrefix) {
		return isSignedByKey(secret, []byte(id+"."+timestamp+"."+string(body)), signatures)
	}
	mac := hmac.New(sha256.New, standardKey(secret))
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// Several while a secret is being replaced. All are compared, so that the time does not reveal which one matched.
	matches := false
	for _, signature := range strings.Split(signatures, " ") {
		if hmac.Equal(expected, []byte(signature)) {
			matches = true
		}
	}
	return matches
}

const (
	publicKeyPrefix    = "whpk_"
	keySignaturePrefix = "v1a,"
)

func isSignedByKey(publicKey string, signed []byte, signatures string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, publicKeyPrefix))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	for _, signature := range strings.Split(signatures, " ") {
		if !strings.HasPrefix(signature, keySignaturePrefix) {
			continue
		}
		sent, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, keySignaturePrefix))
		if err == nil && ed25519.Verify(key, signed, sent) {
			return true
		}
	}
	return false
}

// only returns the value of a header that was sent exactly once, otherwise an empty text.
func only(header http.Header, name string) string {
	if values := header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// parseTimestamp accepts only digits: strconv would also accept a sign.
func parseTimestamp(text string) (int64, bool) {
	if len(text) == 0 || len(text) > maxTimestampDigits || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return seconds, err == nil
}

// standardKey decodes a secret of the form whsec_<base64>. Without valid, padded and non-empty base64, the key is the
// bytes of the whole secret.
func standardKey(secret string) []byte {
	encoded := strings.TrimPrefix(secret, encodedSecret)
	// The decoder ignores line breaks.
	if encoded == "" || encoded == secret || strings.ContainsAny(encoded, "\r\n") {
		return []byte(secret)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return []byte(secret)
	}
	return key
}
