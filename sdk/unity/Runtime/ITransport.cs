using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// Carries requests: <c>UnityTransport</c> in Unity, <c>HttpTransport</c> elsewhere. A transport makes one attempt
    /// and follows no redirect. It has no time limits, retries or tokens.
    /// </summary>
    public interface ITransport : IDisposable
    {
        /// <summary>Posts a body and reads the whole answer, whatever its status.</summary>
        /// <exception cref="TransportException">No whole answer arrived.</exception>
        Task<TransportResponse> SendAsync(TransportRequest request, CancellationToken cancellationToken);

        /// <summary>Posts a body and returns the answer as soon as it begins.</summary>
        /// <exception cref="TransportException">No answer began.</exception>
        Task<ITransportStream> OpenAsync(TransportRequest request, CancellationToken cancellationToken);

        /// <summary>Waits. Some platforms of Unity have no timers.</summary>
        Task DelayAsync(TimeSpan delay, CancellationToken cancellationToken);
    }

    /// <summary>An answer that is read while it arrives.</summary>
    public interface ITransportStream : IDisposable
    {
        int Status { get; }

        /// <summary>A header's value; null when it is absent.</summary>
        string Header(string name);

        /// <summary>Reads the arrived bytes, at least one; 0 at the end.</summary>
        /// <exception cref="TransportException">The connection broke.</exception>
        Task<int> ReadAsync(byte[] buffer, CancellationToken cancellationToken);
    }

    public sealed class TransportRequest
    {
        public Uri Url { get; set; }

        public IReadOnlyList<KeyValuePair<string, string>> Headers { get; set; }

        public byte[] Body { get; set; }
    }

    public sealed class TransportResponse
    {
        private readonly Func<string, string> header;

        public TransportResponse(int status, byte[] body, Func<string, string> header)
        {
            Status = status;
            Body = body;
            this.header = header;
        }

        public int Status { get; private set; }

        public byte[] Body { get; private set; }

        /// <summary>A header's value; null when it is absent.</summary>
        public string Header(string name)
        {
            return header(name);
        }
    }

    /// <summary>The network failed: the answer is missing or incomplete.</summary>
    public sealed class TransportException : IOException
    {
        public TransportException(string message, Exception cause = null)
            : base(message, cause) { }
    }
}
