using System;

namespace Tierway
{
    /// <summary>How a client is set up. The client takes a copy.</summary>
    public sealed class TierwayOptions
    {
        /// <summary>Where the service is, such as <c>https://play.example.com</c>.</summary>
        public string BaseUrl { get; set; }

        /// <summary>Names the project and the environment: <c>twsdk_…</c>.</summary>
        public string SdkKey { get; set; }

        /// <summary>
        /// UnityWebRequest in Unity, HttpClient elsewhere, unless given. It is disposed of with the client.
        /// </summary>
        public ITransport Transport { get; set; }

        /// <summary>Memory, unless given: then a login ends with the game.</summary>
        public ITokenStorage TokenStorage { get; set; }

        /// <summary>How often a call is made again.</summary>
        public int MaxRetries { get; set; } = 3;

        /// <summary>The longest that one attempt of a call takes.</summary>
        public TimeSpan Timeout { get; set; } = TimeSpan.FromSeconds(10);

        /// <summary>The same for a login and a link, which ask the studio's own backend.</summary>
        public TimeSpan LoginTimeout { get; set; } = TimeSpan.FromSeconds(15);

        /// <summary>
        /// A stream of events that is silent for so long is dead. The service says something every 12 s.
        /// </summary>
        public TimeSpan EventSilence { get; set; } = TimeSpan.FromSeconds(25);

        /// <summary>
        /// Is told what goes wrong in handlers of events and in the token storage: it does not fail a call.
        /// </summary>
        public Action<Exception> OnError { get; set; }

        internal TierwayOptions Checked()
        {
            Uri url;
            var isUrl = Uri.TryCreate(BaseUrl, UriKind.Absolute, out url);
            if (!isUrl || (url.Scheme != "http" && url.Scheme != "https"))
                throw new ArgumentException("BaseUrl must be an absolute http or https URL");
            if (string.IsNullOrEmpty(SdkKey)) throw new ArgumentException("SdkKey must be set");
            if (MaxRetries < 0) throw new ArgumentException("MaxRetries must be 0 or more");
            if (Timeout <= TimeSpan.Zero || LoginTimeout <= TimeSpan.Zero || EventSilence <= TimeSpan.Zero)
                throw new ArgumentException("times must be longer than 0");
            var copy = (TierwayOptions)MemberwiseClone();
            copy.BaseUrl = BaseUrl.TrimEnd('/');
            copy.Transport = Transport ?? DefaultTransport();
            copy.TokenStorage = TokenStorage ?? new MemoryTokenStorage();
            return copy;
        }

        internal void Report(Exception error)
        {
            try
            {
                if (OnError != null) OnError(error);
            }
            catch (Exception)
            {
                // There is nobody left to tell.
            }
        }

        /// <summary>Tells every handler, also when one of them throws.</summary>
        internal void Raise<T>(Action<T> handlers, T what)
        {
            if (handlers == null) return;
            foreach (var handler in handlers.GetInvocationList())
            {
                try
                {
                    ((Action<T>)handler)(what);
                }
                catch (Exception error)
                {
                    Report(error);
                }
            }
        }

        private static ITransport DefaultTransport()
        {
#if UNITY_5_3_OR_NEWER
            return new UnityTransport();
#else
            return new HttpTransport();
#endif
        }
    }
}
