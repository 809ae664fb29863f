using System;
using System.Linq;
using System.Text;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class JsonTests
    {
        public static Task RunAsync()
        {
            Malformed();
            Integers();
            Slices();
            Strings();
            Depth();
            Writing();
            Cut();
            return Task.FromResult(true);
        }

        private static void Malformed()
        {
            string[] texts =
            {
                "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "{}{}", "1 2", "{\"a\"}", "{\"a\":}",
                "{\"a\":1,}", "{,\"a\":1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\":1", "{\"a\":",
                "{\"a\"", "{\"", "tru", "True", "truee", "nul", "nil", "undefined", "NaN", "Infinity", "-Infinity", "-", "+1", "01",
                "-01", "00", "1.", ".5", "1.e3", "1e", "1e+", "1E-", "0x1", "1_000", "--1", "1a", "\"", "\"a", "\"\\\"", "\"\\x\"",
                "\"\\u\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u123", "\"\n\"", "\"\t\"", "\"\0\"", "\"\u001f\"", "'a'", "\uFEFF1",
                "\u00a01", "1\u2028", "/**/1", "1//", "[1,2", "[\"a\",\"b]", "{\"a\":[}", "[{]", "\"\ud800\"", "\"\udc00\"",
                "\"\ud800a\"", "\"\udc00\ud800\"", "{\"a\":\"\ud800\"}", "\\u0031", "[1;2]", "{\"a\"=1}", "\v1", "\f1", "{\"a\":1}x",
            };
            foreach (var text in texts)
            {
                Check.Throws<JsonFormatException>(() => Json.Parse(text), text);
                JsonValue value;
                Check.True(!Json.TryParse(text, out value) && value == null, "TryParse refuses " + text);
            }
            JsonValue none;
            Check.True(!Json.TryParse(null, out none), "TryParse refuses null");
        }

        private static void Integers()
        {
            foreach (var exact in new[] { long.MinValue, long.MinValue + 1, -9007199254740993, -1, 0, 9007199254740993, long.MaxValue })
                Check.Equal(exact, Json.Parse(exact.ToString()).AsInt64(), "an exact integer");
            Check.Equal(ulong.MaxValue, Json.Parse("18446744073709551615").AsUInt64(), "the largest of 64 bits without a sign");
            Check.Equal(0UL, Json.Parse("-0").AsUInt64(), "minus zero");
            Check.Equal(0L, Json.Parse("-0").AsInt64(), "minus zero");
            Check.Equal(int.MinValue, Json.Parse("-2147483648").AsInt32(), "the least of 32 bits");
            string[] others =
            {
                "9223372036854775808", "-9223372036854775809", "1.0", "1e3", "1E0", "10.5", "\"10\"", "true", "null", "[]", "{}",
                "100000000000000000000000000000000000000000",
            };
            foreach (var text in others) Check.Throws<JsonFormatException>(() => Json.Parse(text).AsInt64(), text);
            Check.Throws<JsonFormatException>(() => Json.Parse("18446744073709551616").AsUInt64(), "2^64");
            Check.Throws<JsonFormatException>(() => Json.Parse("-1").AsUInt64(), "-1 without a sign");
            Check.Throws<JsonFormatException>(() => Json.Parse("2147483648").AsInt32(), "2^31");
            Check.Equal(-1.5e-3, Json.Parse("-1.5E-3").AsDouble(), "a double");
            Check.Throws<JsonFormatException>(() => Json.Parse("1e999").AsDouble(), "1e999");
            Check.Equal("1e999", Json.Parse("1e999").Raw, "a number beyond a double keeps its text");
        }

        private static void Slices()
        {
            const string Text = " {\"b\" : 1.0,\n\"a\":[1 , 2],\"b\":{ \"x\":\"}\\\"]\" },\"\\u0061\\n\":null , \"10\":1e3} ";
            var value = Json.Parse(Text);
            Check.Equal(Text.Trim(), value.Raw, "the text of an object");
            Check.Equal("{ \"x\":\"}\\\"]\" }", value["b"].Raw, "the last of two members of one name");
            Check.Equal("[1 , 2]", value["a"].Raw, "an array with its spaces");
            Check.Sequence(new[] { "1", "2" }, value["a"].Items.Select(one => one.Raw), "its elements");
            Check.Equal("}\"]", value["b"]["x"].AsString(), "a string with brackets");
            Check.True(value["a\n"].IsNull, "a name with escapes");
            Check.Equal(null, value["c"], "a member that is not there");
            Check.Sequence(new[] { "b", "a", "b", "a\n", "10" }, value.Members.Select(one => one.Key), "names in their order");
            Check.Equal("1e3", value["10"].Raw, "a number as it was written");
            Check.Equal(0, Json.Parse("[ ]").Items.Count + Json.Parse("{ }").Members.Count, "nothing");
            Check.Throws<JsonFormatException>(() => Json.Parse("[]")["a"].ToString(), "a member of an array");
            Check.Throws<JsonFormatException>(() => Json.Parse("{}").Items.ToString(), "elements of an object");
        }

        private static void Strings()
        {
            Check.Equal(
                "\"\\/\b\f\n\r\t\u00e9\ud83d\ude00",
                Json.Parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\uDE00\"").AsString(),
                "escapes");
            Check.Equal("\\", Json.Parse("\"\\\\\"").AsString(), "a backslash");
            foreach (var text in new[] { "", "a", "\"\\\n\r\t\0\u001f", "\u2028\u2029\u00e9", "\ud83d\ude00", "</script>", "\\u0041" })
                Check.Equal(text, Json.Parse(Json.Quote(text)).AsString(), "a string there and back");
            Check.Equal("\"\\ud800\"", Json.Quote("\ud800"), "half of a pair is escaped");
            Check.Equal("\"a\\udc00\\ud800b\"", Json.Quote("a\udc00\ud800b"), "two wrong halves are escaped");
        }

        private static void Depth()
        {
            var deep = new string('[', Json.MaxDepth) + new string(']', Json.MaxDepth);
            Check.Equal(deep, Json.Parse(deep).Raw, "the deepest text");
            Check.Throws<JsonFormatException>(() => Json.Parse("[" + deep + "]"), "a deeper text");
            Check.Throws<JsonFormatException>(() => Json.Parse(new string('[', 1000000)), "a million brackets");
            var objects = string.Concat(Enumerable.Repeat("{\"a\":", 1000000));
            Check.Throws<JsonFormatException>(() => Json.Parse(objects), "a million objects");
        }

        private static void Writing()
        {
            var written = new JsonWriter()
                .BeginObject()
                .Name("least")
                .Value(long.MinValue)
                .Name("most")
                .Value(ulong.MaxValue)
                .Name("list")
                .BeginArray()
                .Value("a\"b")
                .Value(true)
                .Null()
                .Raw(" 1.0 ")
                .BeginObject()
                .EndObject()
                .Value(0.1)
                .EndArray()
                .Name("")
                .BeginArray()
                .EndArray()
                .EndObject()
                .ToString();
            Check.Equal(
                "{\"least\":-9223372036854775808,\"most\":18446744073709551615,\"list\":[\"a\\\"b\",true,null,1.0,{},0.1],\"\":[]}",
                written,
                "what was written");
            Check.Throws<JsonFormatException>(() => new JsonWriter().Raw("1,2"), "a raw text that is none");
            Check.Throws<ArgumentException>(() => new JsonWriter().Value(double.NaN), "NaN");
            Check.Throws<InvalidOperationException>(() => new JsonWriter().BeginObject().Value(1), "a member without a name");
            Check.Throws<InvalidOperationException>(() => new JsonWriter().BeginArray().Name("a"), "a name in an array");
            Check.Throws<InvalidOperationException>(() => new JsonWriter().BeginArray().EndObject(), "a wrong end");
            Check.Throws<InvalidOperationException>(() => new JsonWriter().BeginArray().ToString(), "half a value");
            Check.Throws<InvalidOperationException>(() => new JsonWriter().Value(1).Value(2), "two values");
        }

        /// <summary>No proper prefix of a text is valid.</summary>
        private static void Cut()
        {
            const string Text = "{\"a\":[1,-2.5e+3,\"\\u00e9\\n\",true,false,null,{}],\"b\":{\"c\":[[]]}}";
            for (var length = 0; length < Text.Length; length++)
            {
                JsonValue value;
                Check.True(!Json.TryParse(Text.Substring(0, length), out value), "cut at " + length);
            }
            var random = new Random(7);
            for (var turn = 0; turn < 20000; turn++)
            {
                var changed = new StringBuilder(Text);
                changed[random.Next(Text.Length)] = "{}[]\",:\\u0e-+. tfnx"[random.Next(19)];
                JsonValue value;
                if (!Json.TryParse(changed.ToString(), out value)) continue;
                // All members of an accepted text can be read.
                Walk(value);
            }
        }

        private static int Walk(JsonValue value)
        {
            if (value.Kind == JsonKind.Array) return value.Items.Sum(one => Walk(one));
            if (value.Kind == JsonKind.Object) return value.Members.Sum(one => one.Key.Length + Walk(one.Value));
            return value.Kind == JsonKind.String ? value.AsString().Length : value.Raw.Length;
        }
    }
}
