#if !UNITY_5_3_OR_NEWER
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Carries requests by <see cref="HttpClient"/>: for plain .NET, such as tools, tests and bots.</summary>
    public sealed class HttpTransport : ITransport
    {
        private const int MaxConnections = 64;
        private const int MaxAnswerBytes = 64 * 1024 * 1024;

        private readonly HttpClient http;

        public HttpTransport()
            : this(
                new HttpClientHandler
                {
                    AllowAutoRedirect = false,
                    UseCookies = false,
                    MaxConnectionsPerServer = MaxConnections,
                }) { }

        /// <summary>With a handler of your own, which is disposed of with the transport.</summary>
        public HttpTransport(HttpMessageHandler handler)
        {
            http = new HttpClient(handler)
            {
                // Each attempt has its own time limit.
                Timeout = Timeout.InfiniteTimeSpan,
                MaxResponseContentBufferSize = MaxAnswerBytes,
            };
            http.DefaultRequestHeaders.ExpectContinue = false;
        }

        public async Task<TransportResponse> SendAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            using (var message = MessageOf(request))
            {
                try
                {
                    using (var response = await http.SendAsync(message, cancellationToken))
                    {
                        var body = await response.Content.ReadAsByteArrayAsync();
                        var headers = HeadersOf(response);
                        return new TransportResponse((int)response.StatusCode, body, name => Find(headers, name));
                    }
                }
                catch (Exception error)
                {
                    throw Told(error, cancellationToken);
                }
            }
        }

        public async Task<ITransportStream> OpenAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            HttpResponseMessage response = null;
            try
            {
                using (var message = MessageOf(request))
                {
                    const HttpCompletionOption Begun = HttpCompletionOption.ResponseHeadersRead;
                    response = await http.SendAsync(message, Begun, cancellationToken);
                }
                return new HttpStream(response, await response.Content.ReadAsStreamAsync());
            }
            catch (Exception error)
            {
                if (response != null) response.Dispose();
                throw Told(error, cancellationToken);
            }
        }

        public Task DelayAsync(TimeSpan delay, CancellationToken cancellationToken)
        {
            return Task.Delay(delay, cancellationToken);
        }

        public void Dispose()
        {
            http.Dispose();
        }

        private static HttpRequestMessage MessageOf(TransportRequest request)
        {
            var content = new ByteArrayContent(request.Body);
            content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
            var message = new HttpRequestMessage(HttpMethod.Post, request.Url) { Content = content };
            foreach (var header in request.Headers) message.Headers.TryAddWithoutValidation(header.Key, header.Value);
            return message;
        }

        private static Dictionary<string, string> HeadersOf(HttpResponseMessage response)
        {
            var found = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
            foreach (var header in response.Headers.Concat(response.Content.Headers))
                found[header.Key] = string.Join(", ", header.Value);
            return found;
        }

        private static string Find(Dictionary<string, string> headers, string name)
        {
            string value;
            return headers.TryGetValue(name, out value) ? value : null;
        }

        /// <summary>Any exception below is either the caller's cancellation, or a network failure.</summary>
        private static Exception Told(Exception error, CancellationToken cancellationToken)
        {
            if (cancellationToken.IsCancellationRequested) return new OperationCanceledException(cancellationToken);
            for (var cause = error; cause != null; cause = cause.InnerException)
            {
                var isNetwork =
                    cause is HttpRequestException
                    || cause is WebException
                    || cause is IOException
                    || cause is OperationCanceledException
                    || cause is ObjectDisposedException
                    || cause is System.Net.Sockets.SocketException;
                if (isNetwork) return new TransportException(cause.Message, error);
            }
            return new TransportException(error.Message, error);
        }

        private sealed class HttpStream : ITransportStream
        {
            private readonly HttpResponseMessage response;
            private readonly Stream body;
            private readonly Dictionary<string, string> headers;

            public HttpStream(HttpResponseMessage response, Stream body)
            {
                this.response = response;
                this.body = body;
                headers = HeadersOf(response);
            }

            public int Status
            {
                get { return (int)response.StatusCode; }
            }

            public string Header(string name)
            {
                return Find(headers, name);
            }

            public async Task<int> ReadAsync(byte[] buffer, CancellationToken cancellationToken)
            {
                try
                {
                    return await body.ReadAsync(buffer, 0, buffer.Length, cancellationToken);
                }
                catch (Exception error)
                {
                    throw Told(error, cancellationToken);
                }
            }

            public void Dispose()
            {
                response.Dispose();
            }
        }
    }
}
#endif
