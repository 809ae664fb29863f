using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Tierway
{
    /// <summary>
    /// Writes one JSON value. Integers are exact, and raw texts are checked to be JSON and written unchanged.
    /// </summary>
    public sealed class JsonWriter
    {
        private readonly StringBuilder text = new StringBuilder();
        private readonly Stack<char> open = new Stack<char>();
        /// <summary>Whether the next name or element needs a comma before it.</summary>
        private bool isContinued;
        private bool isNamed;

        public JsonWriter BeginObject()
        {
            return Begin('{', '}');
        }

        public JsonWriter EndObject()
        {
            return End('}');
        }

        public JsonWriter BeginArray()
        {
            return Begin('[', ']');
        }

        public JsonWriter EndArray()
        {
            return End(']');
        }

        /// <summary>Writes the name of the next member.</summary>
        public JsonWriter Name(string name)
        {
            if (name == null) throw new ArgumentNullException("name");
            if (isNamed || open.Count == 0 || open.Peek() != '}')
                throw new InvalidOperationException("a name stands before each member of an object, and nowhere else");
            if (isContinued) text.Append(',');
            AppendQuoted(name);
            text.Append(':');
            isNamed = true;
            return this;
        }

        public JsonWriter Value(string value)
        {
            if (value == null) return Null();
            Before();
            AppendQuoted(value);
            return After();
        }

        public JsonWriter Value(long value)
        {
            return Append(value.ToString(CultureInfo.InvariantCulture));
        }

        public JsonWriter Value(ulong value)
        {
            return Append(value.ToString(CultureInfo.InvariantCulture));
        }

        public JsonWriter Value(int value)
        {
            return Value((long)value);
        }

        public JsonWriter Value(bool value)
        {
            return Append(value ? "true" : "false");
        }

        public JsonWriter Value(double value)
        {
            if (double.IsNaN(value) || double.IsInfinity(value))
                throw new ArgumentException("JSON has no such number", "value");
            return Append(value.ToString("R", CultureInfo.InvariantCulture));
        }

        public JsonWriter Value(JsonValue value)
        {
            return value == null ? Null() : Append(value.Raw);
        }

        public JsonWriter Null()
        {
            return Append("null");
        }

        /// <summary>Writes a JSON text unchanged. Throws <see cref="JsonFormatException"/> for any other text.</summary>
        public JsonWriter Raw(string json)
        {
            return Append(Json.Parse(json).Raw);
        }

        /// <summary>The written text. Every array and object must have ended.</summary>
        public override string ToString()
        {
            if (open.Count > 0 || text.Length == 0) throw new InvalidOperationException("the value is not whole");
            return text.ToString();
        }

        private JsonWriter Begin(char opening, char closing)
        {
            Before();
            text.Append(opening);
            open.Push(closing);
            isContinued = false;
            return this;
        }

        private JsonWriter End(char closing)
        {
            if (isNamed || open.Count == 0 || open.Peek() != closing)
                throw new InvalidOperationException("nothing is open that '" + closing + "' would close");
            open.Pop();
            text.Append(closing);
            return After();
        }

        private JsonWriter Append(string value)
        {
            Before();
            text.Append(value);
            return After();
        }

        private void Before()
        {
            if (open.Count == 0)
            {
                if (text.Length > 0) throw new InvalidOperationException("one value is written already");
            }
            else if (open.Peek() == '}')
            {
                if (!isNamed) throw new InvalidOperationException("a member needs a name");
            }
            else if (isContinued)
            {
                text.Append(',');
            }
            isNamed = false;
        }

        private JsonWriter After()
        {
            isContinued = true;
            return this;
        }

        private void AppendQuoted(string value)
        {
            text.Append('"');
            for (var at = 0; at < value.Length; at++)
            {
                var one = value[at];
                if (one == '"' || one == '\\') text.Append('\\').Append(one);
                else if (one == '\n') text.Append("\\n");
                else if (one == '\r') text.Append("\\r");
                else if (one == '\t') text.Append("\\t");
                else if (one < ' ' || IsLone(value, at)) AppendEscape(one);
                else text.Append(one);
            }
            text.Append('"');
        }

        private void AppendEscape(char one)
        {
            text.Append("\\u").Append(((int)one).ToString("x4", CultureInfo.InvariantCulture));
        }

        /// <summary>Half of a surrogate pair: UTF-8 cannot encode it, an escape can.</summary>
        private static bool IsLone(string value, int at)
        {
            if (char.IsHighSurrogate(value[at])) return at + 1 == value.Length || !char.IsLowSurrogate(value[at + 1]);
            return char.IsLowSurrogate(value[at]) && (at == 0 || !char.IsHighSurrogate(value[at - 1]));
        }
    }
}
