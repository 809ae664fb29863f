using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Tierway
{
    /// <summary>The kind of a JSON value.</summary>
    public enum JsonKind
    {
        Null,
        Boolean,
        Number,
        String,
        Array,
        Object,
    }

    /// <summary>A text is not JSON, or a value is not of the requested kind.</summary>
    public sealed class JsonFormatException : FormatException
    {
        public JsonFormatException(string message)
            : base(message) { }
    }

    /// <summary>Reads JSON texts.</summary>
    public static class Json
    {
        /// <summary>The maximum nesting of arrays and objects. A deeper text is refused.</summary>
        public const int MaxDepth = 128;

        /// <summary>Reads a whole text. Throws <see cref="JsonFormatException"/> unless all of it is JSON.</summary>
        public static JsonValue Parse(string text)
        {
            if (text == null) throw new ArgumentNullException("text");
            var start = JsonScanner.SkipSpace(text, 0);
            var end = JsonScanner.EndOf(text, start, 0);
            var rest = JsonScanner.SkipSpace(text, end);
            if (rest != text.Length) throw JsonScanner.Fault(text, rest, "the end of the text");
            return new JsonValue(text, start, end);
        }

        /// <summary>Reads a whole text; false, and null, unless all of it is JSON.</summary>
        public static bool TryParse(string text, out JsonValue value)
        {
            value = null;
            if (text == null) return false;
            try
            {
                value = Parse(text);
                return true;
            }
            catch (JsonFormatException)
            {
                return false;
            }
        }

        /// <summary>The JSON text of a string, with its quotes.</summary>
        public static string Quote(string text)
        {
            return new JsonWriter().Value(text).ToString();
        }
    }

    /// <summary>
    /// A JSON value that keeps its text: integers are exact, and <see cref="Raw"/> is the text that was read, character
    /// for character. Members and elements are parsed on first use.
    /// </summary>
    public sealed class JsonValue
    {
        private static readonly JsonValue[] Nothing = new JsonValue[0];
        private static readonly KeyValuePair<string, JsonValue>[] NoMembers = new KeyValuePair<string, JsonValue>[0];

        private readonly string source;
        private readonly int start;
        private readonly int end;
        private string raw;
        private JsonValue[] items;
        private KeyValuePair<string, JsonValue>[] members;

        /// <summary>The slice must be a valid value.</summary>
        internal JsonValue(string source, int start, int end)
        {
            this.source = source;
            this.start = start;
            this.end = end;
            Kind = KindOf(source[start]);
        }

        public JsonKind Kind { get; private set; }

        /// <summary>The text of the value, without surrounding whitespace.</summary>
        public string Raw
        {
            get { return raw ?? (raw = source.Substring(start, end - start)); }
        }

        public bool IsNull
        {
            get { return Kind == JsonKind.Null; }
        }

        /// <summary>The elements of an array.</summary>
        public IReadOnlyList<JsonValue> Items
        {
            get
            {
                Require(JsonKind.Array);
                return items ?? (items = ReadItems());
            }
        }

        /// <summary>The members of an object in their order, including repeated names.</summary>
        public IReadOnlyList<KeyValuePair<string, JsonValue>> Members
        {
            get
            {
                Require(JsonKind.Object);
                return members ?? (members = ReadMembers());
            }
        }

        /// <summary>A member of an object; null when there is none. The last of repeated names counts.</summary>
        public JsonValue this[string name]
        {
            get
            {
                var all = Members;
                for (var at = all.Count - 1; at >= 0; at--)
                {
                    if (string.Equals(all[at].Key, name, StringComparison.Ordinal)) return all[at].Value;
                }
                return null;
            }
        }

        public bool AsBoolean()
        {
            Require(JsonKind.Boolean);
            return source[start] == 't';
        }

        /// <summary>The string value, without quotes and with its escapes decoded.</summary>
        public string AsString()
        {
            Require(JsonKind.String);
            return JsonScanner.Unquote(source, start, end);
        }

        /// <summary>An exact integer. Throws for <c>1.0</c>, <c>1e3</c> and integers out of range.</summary>
        public long AsInt64()
        {
            long value;
            if (!TryGetInt64(out value)) throw new JsonFormatException("a 64-bit integer is expected, not " + Shown());
            return value;
        }

        public bool TryGetInt64(out long value)
        {
            value = 0;
            return IsInteger()
                && long.TryParse(Raw, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value);
        }

        /// <summary>An exact integer from 0 to 2^64-1.</summary>
        public ulong AsUInt64()
        {
            ulong value;
            if (IsInteger() && Raw == "-0") return 0;
            if (!IsInteger() || !ulong.TryParse(Raw, NumberStyles.None, CultureInfo.InvariantCulture, out value))
                throw new JsonFormatException("an unsigned 64-bit integer is expected, not " + Shown());
            return value;
        }

        public int AsInt32()
        {
            var value = AsInt64();
            if (value < int.MinValue || value > int.MaxValue)
                throw new JsonFormatException("a 32-bit integer is expected, not " + Shown());
            return (int)value;
        }

        /// <summary>The nearest number that a double can hold.</summary>
        public double AsDouble()
        {
            Require(JsonKind.Number);
            double value;
            var isRead = double.TryParse(Raw, NumberStyles.Float, CultureInfo.InvariantCulture, out value);
            if (!isRead || double.IsInfinity(value))
                throw new JsonFormatException("a number within the range of a double is expected, not " + Shown());
            return value;
        }

        /// <summary>The same as <see cref="Raw"/>.</summary>
        public override string ToString()
        {
            return Raw;
        }

        /// <summary>A string is taken as JSON text.</summary>
        public static implicit operator JsonValue(string text)
        {
            return text == null ? null : Json.Parse(text);
        }

        private bool IsInteger()
        {
            if (Kind != JsonKind.Number) return false;
            for (var at = source[start] == '-' ? start + 1 : start; at < end; at++)
            {
                if (source[at] < '0' || source[at] > '9') return false;
            }
            return true;
        }

        private JsonValue[] ReadItems()
        {
            var at = JsonScanner.SkipSpace(source, start + 1);
            if (source[at] == ']') return Nothing;
            var found = new List<JsonValue>();
            while (true)
            {
                var to = JsonScanner.EndOf(source, at, 0);
                found.Add(new JsonValue(source, at, to));
                at = JsonScanner.SkipSpace(source, to);
                if (source[at] == ']') return found.ToArray();
                at = JsonScanner.SkipSpace(source, at + 1);
            }
        }

        private KeyValuePair<string, JsonValue>[] ReadMembers()
        {
            var at = JsonScanner.SkipSpace(source, start + 1);
            if (source[at] == '}') return NoMembers;
            var found = new List<KeyValuePair<string, JsonValue>>();
            while (true)
            {
                var nameEnd = JsonScanner.EndOf(source, at, 0);
                var name = JsonScanner.Unquote(source, at, nameEnd);
                at = JsonScanner.SkipSpace(source, JsonScanner.SkipSpace(source, nameEnd) + 1);
                var to = JsonScanner.EndOf(source, at, 0);
                found.Add(new KeyValuePair<string, JsonValue>(name, new JsonValue(source, at, to)));
                at = JsonScanner.SkipSpace(source, to);
                if (source[at] == '}') return found.ToArray();
                at = JsonScanner.SkipSpace(source, at + 1);
            }
        }

        private void Require(JsonKind kind)
        {
            if (Kind != kind) throw new JsonFormatException(kind + " is expected, not " + Shown());
        }

        private string Shown()
        {
            return end - start <= 40 ? Raw : source.Substring(start, 40) + "…";
        }

        private static JsonKind KindOf(char first)
        {
            switch (first)
            {
                case '{':
                    return JsonKind.Object;
                case '[':
                    return JsonKind.Array;
                case '"':
                    return JsonKind.String;
                case 't':
                case 'f':
                    return JsonKind.Boolean;
                case 'n':
                    return JsonKind.Null;
                default:
                    return JsonKind.Number;
            }
        }
    }

    /// <summary>Finds the ends of values. Throws for text that is not JSON (RFC 8259).</summary>
    internal static class JsonScanner
    {
        public static int SkipSpace(string text, int at)
        {
            while (at < text.Length && " \n\r\t".IndexOf(text[at]) >= 0) at++;
            return at;
        }

        /// <summary>The end, exclusive, of the value that starts here.</summary>
        public static int EndOf(string text, int at, int depth)
        {
            if (at >= text.Length) throw Fault(text, at, "a value");
            switch (text[at])
            {
                case '{':
                    return EndOfObject(text, at, depth + 1);
                case '[':
                    return EndOfArray(text, at, depth + 1);
                case '"':
                    return EndOfString(text, at);
                case 't':
                    return EndOfWord(text, at, "true");
                case 'f':
                    return EndOfWord(text, at, "false");
                case 'n':
                    return EndOfWord(text, at, "null");
                default:
                    return EndOfNumber(text, at);
            }
        }

        /// <summary>The text of a valid string.</summary>
        public static string Unquote(string text, int start, int end)
        {
            var escape = text.IndexOf('\\', start, end - start);
            if (escape < 0) return text.Substring(start + 1, end - start - 2);
            var decoded = new StringBuilder(end - start);
            for (var at = start + 1; at < end - 1; at++)
            {
                if (text[at] != '\\')
                {
                    decoded.Append(text[at]);
                    continue;
                }
                at++;
                switch (text[at])
                {
                    case 'b':
                        decoded.Append('\b');
                        break;
                    case 'f':
                        decoded.Append('\f');
                        break;
                    case 'n':
                        decoded.Append('\n');
                        break;
                    case 'r':
                        decoded.Append('\r');
                        break;
                    case 't':
                        decoded.Append('\t');
                        break;
                    case 'u':
                        decoded.Append(
                            (char)int.Parse(
                                text.Substring(at + 1, 4),
                                NumberStyles.AllowHexSpecifier,
                                CultureInfo.InvariantCulture));
                        at += 4;
                        break;
                    default:
                        decoded.Append(text[at]);
                        break;
                }
            }
            return decoded.ToString();
        }

        public static JsonFormatException Fault(string text, int at, string expected)
        {
            var found = at < text.Length ? "'" + text[at] + "'" : "the end";
            return new JsonFormatException("at " + at + ": " + expected + " is expected, not " + found);
        }

        private static int EndOfObject(string text, int at, int depth)
        {
            if (depth > Json.MaxDepth) throw new JsonFormatException("nested deeper than " + Json.MaxDepth);
            at = SkipSpace(text, at + 1);
            if (at < text.Length && text[at] == '}') return at + 1;
            while (true)
            {
                if (at >= text.Length || text[at] != '"') throw Fault(text, at, "a name");
                at = SkipSpace(text, EndOfString(text, at));
                if (at >= text.Length || text[at] != ':') throw Fault(text, at, "':'");
                at = SkipSpace(text, EndOf(text, SkipSpace(text, at + 1), depth));
                if (at < text.Length && text[at] == '}') return at + 1;
                if (at >= text.Length || text[at] != ',') throw Fault(text, at, "',' or '}'");
                at = SkipSpace(text, at + 1);
            }
        }

        private static int EndOfArray(string text, int at, int depth)
        {
            if (depth > Json.MaxDepth) throw new JsonFormatException("nested deeper than " + Json.MaxDepth);
            at = SkipSpace(text, at + 1);
            if (at < text.Length && text[at] == ']') return at + 1;
            while (true)
            {
                at = SkipSpace(text, EndOf(text, at, depth));
                if (at < text.Length && text[at] == ']') return at + 1;
                if (at >= text.Length || text[at] != ',') throw Fault(text, at, "',' or ']'");
                at = SkipSpace(text, at + 1);
            }
        }

        private static int EndOfString(string text, int start)
        {
            for (var at = start + 1; at < text.Length; at++)
            {
                var one = text[at];
                if (one == '"') return at + 1;
                if (one < ' ') throw Fault(text, at, "an escaped control character");
                if (one == '\\')
                {
                    at++;
                    if (at >= text.Length) break;
                    if (text[at] == 'u') at = EndOfEscape(text, at);
                    else if ("\"\\/bfnrt".IndexOf(text[at]) < 0) throw Fault(text, at, "an escape");
                }
                else if (char.IsHighSurrogate(one))
                {
                    at++;
                    if (at >= text.Length || !char.IsLowSurrogate(text[at])) throw Fault(text, at, "a low surrogate");
                }
                else if (char.IsLowSurrogate(one))
                {
                    throw Fault(text, at, "a high surrogate before it");
                }
            }
            throw Fault(text, text.Length, "the end of a string");
        }

        /// <summary>The place of the last of four hexadecimal digits.</summary>
        private static int EndOfEscape(string text, int at)
        {
            for (var digit = at + 1; digit <= at + 4; digit++)
            {
                if (digit >= text.Length || !Uri.IsHexDigit(text[digit]))
                    throw Fault(text, digit, "a hexadecimal digit");
            }
            return at + 4;
        }

        private static int EndOfWord(string text, int at, string word)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Fault(text, at, "'" + word + "'");
            return at + word.Length;
        }

        private static int EndOfNumber(string text, int start)
        {
            var at = text[start] == '-' ? start + 1 : start;
            var whole = EndOfDigits(text, at);
            if (whole == at) throw Fault(text, at, start == at ? "a value" : "a digit");
            if (text[at] == '0' && whole > at + 1) throw Fault(text, at + 1, "no digit after a leading zero");
            at = whole;
            if (at < text.Length && text[at] == '.')
            {
                var fraction = EndOfDigits(text, at + 1);
                if (fraction == at + 1) throw Fault(text, fraction, "a digit");
                at = fraction;
            }
            if (at < text.Length && (text[at] == 'e' || text[at] == 'E'))
            {
                at++;
                if (at < text.Length && (text[at] == '+' || text[at] == '-')) at++;
                var exponent = EndOfDigits(text, at);
                if (exponent == at) throw Fault(text, at, "a digit");
                at = exponent;
            }
            return at;
        }

        private static int EndOfDigits(string text, int at)
        {
            while (at < text.Length && text[at] >= '0' && text[at] <= '9') at++;
            return at;
        }
    }
}
