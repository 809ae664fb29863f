using System;

namespace Tierway
{
    /// <summary>The options of a client. The client takes a copy.</summary>
    public sealed class TierwayOptions
    {
        /// <summary>The address of the service, such as <c>https://play.example.com</c>.</summary>
        public string BaseUrl { get; set; }

        /// <summary>Names the project and the environment: <c>twsdk_…</c>.</summary>
        public string SdkKey { get; set; }

        /// <summary>
        /// Default: UnityWebRequest in Unity, HttpClient elsewhere. It is disposed of with the client.
        /// </summary>
        public ITransport Transport { get; set; }

        /// <summary>Default: memory, so that a login ends with the game.</summary>
        public ITokenStorage TokenStorage { get; set; }

        /// <summary>Where the id of a guest is kept. Default: memory, so that the guest is lost with the game.</summary>
        public ITextStorage DeviceStorage { get; set; }

        /// <summary>The maximum number of retries of a call.</summary>
        public int MaxRetries { get; set; } = 3;

        /// <summary>The time limit of one attempt of a call.</summary>
        public TimeSpan Timeout { get; set; } = TimeSpan.FromSeconds(10);

        /// <summary>The same for a login and a link, which call the studio's own backend.</summary>
        public TimeSpan LoginTimeout { get; set; } = TimeSpan.FromSeconds(15);

        /// <summary>
        /// A stream of events that is silent for this long is dead. The service sends something every 12 s.
        /// </summary>
        public TimeSpan EventSilence { get; set; } = TimeSpan.FromSeconds(25);

        /// <summary>
        /// Receives exceptions of event handlers and of the token storage, which do not fail a call.
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
            copy.DeviceStorage = DeviceStorage ?? new MemoryTextStorage();
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
                // No handler is left for this exception.
            }
        }

        /// <summary>Calls every handler, also when one of them throws.</summary>
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
