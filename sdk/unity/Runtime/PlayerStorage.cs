using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// The player's storage: JSON texts by key. A text is returned as it was written, character for character.
    /// </summary>
    public sealed class PlayerStorage
    {
        private readonly Caller caller;

        internal PlayerStorage(Caller caller)
        {
            this.caller = caller;
        }

        /// <summary>The JSON texts of these keys, or of all. A key that is not stored is not in the answer.</summary>
        public async Task<IReadOnlyDictionary<string, string>> GetAsync(
            IEnumerable<string> keys = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject();
            if (keys != null) AddKeys(request, keys);
            var body = await caller.PostAsync(
                "/sdk/v1/storage/get",
                request.EndObject().ToString(),
                callOptions,
                cancellationToken);
            return Caller.Understood(() =>
            {
                var values = new Dictionary<string, string>(StringComparer.Ordinal);
                foreach (var value in body.Member("values").Members) values[value.Key] = value.Value.Raw;
                return values;
            });
        }

        /// <summary>
        /// Keys with the sizes of their values, up to 200 at a time: a full storage does not fit into one answer.
        /// </summary>
        /// <param name="after">The <see cref="StorageKeys.Next"/> of the list before; null for the first keys.</param>
        /// <param name="first">The number of keys. Default: 200.</param>
        public async Task<StorageKeys> ListAsync(
            string after = null,
            int? first = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject();
            if (after != null) request.Name("after").Value(after);
            if (first != null) request.Name("first").Value(first.Value);
            var body = await caller.PostAsync(
                "/sdk/v1/storage/list",
                request.EndObject().ToString(),
                callOptions,
                cancellationToken);
            return Caller.Understood(() => StorageKeys.Read(body));
        }

        /// <summary>Writes values, all or none. Other keys stay.</summary>
        /// <exception cref="JsonFormatException">A value is not JSON. Nothing is sent.</exception>
        public async Task SetAsync(
            IEnumerable<KeyValuePair<string, string>> values,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (values == null) throw new ArgumentNullException("values");
            var request = new JsonWriter().BeginObject().Name("values").BeginObject();
            foreach (var value in values) request.Name(value.Key).Raw(value.Value);
            await ChangeAsync("/sdk/v1/storage/set", request.EndObject(), callOptions, cancellationToken);
        }

        /// <summary>Writes one value, as JSON text.</summary>
        public Task SetAsync(
            string key,
            string value,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return SetAsync(new[] { new KeyValuePair<string, string>(key, value) }, callOptions, cancellationToken);
        }

        public async Task DeleteAsync(
            IEnumerable<string> keys,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (keys == null) throw new ArgumentNullException("keys");
            var request = new JsonWriter().BeginObject();
            AddKeys(request, keys);
            await ChangeAsync("/sdk/v1/storage/delete", request, callOptions, cancellationToken);
        }

        /// <summary>An idempotent change.</summary>
        private Task ChangeAsync(
            string path,
            JsonWriter request,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var body = request.EndObject().ToString();
            var call = new Call
            {
                Path = path,
                Body = body,
                IsOfPlayer = true,
                IsChanging = true,
                Options = callOptions,
            };
            return caller.MakeAsync(call, cancellationToken);
        }

        private static void AddKeys(JsonWriter request, IEnumerable<string> keys)
        {
            request.Name("keys").BeginArray();
            foreach (var key in keys) request.Value(key);
            request.EndArray();
        }
    }
}
