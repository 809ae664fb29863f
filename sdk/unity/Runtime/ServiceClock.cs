using System;
using System.Diagnostics;
using System.Globalization;

namespace Tierway
{
    /// <summary>The clock of the service, as its answers show it. The clock of the device may be set at any time.</summary>
    internal sealed class ServiceClock
    {
        /// <summary>Clocks of a device that differ by more disagree: one was set, or the device slept.</summary>
        private static readonly TimeSpan Difference = TimeSpan.FromMinutes(1);

        private readonly object gate = new object();
        private DateTimeOffset heard;
        private DateTimeOffset heardByDevice;
        private Stopwatch sinceHeard;

        /// <summary>The present time; null before an answer that has one, and when the device's clocks disagree.</summary>
        public DateTimeOffset? Now
        {
            get
            {
                lock (gate)
                {
                    if (sinceHeard == null) return null;
                    var passed = sinceHeard.Elapsed;
                    var byDevice = DateTimeOffset.UtcNow - heardByDevice;
                    return (passed - byDevice).Duration() < Difference ? heard + passed : (DateTimeOffset?)null;
                }
            }
        }

        /// <summary>Takes the header <c>Date</c> of an answer; null for one without it.</summary>
        public void Hear(string date)
        {
            DateTimeOffset time;
            if (!TryRead(date, out time)) return;
            lock (gate)
            {
                heard = time;
                heardByDevice = DateTimeOffset.UtcNow;
                sinceHeard = Stopwatch.StartNew();
            }
        }

        /// <summary>Reads the time of a header, such as <c>Sun, 06 Nov 1994 08:49:37 GMT</c>.</summary>
        public static bool TryRead(string text, out DateTimeOffset time)
        {
            return DateTimeOffset.TryParseExact(
                text,
                "r",
                CultureInfo.InvariantCulture,
                DateTimeStyles.AssumeUniversal,
                out time);
        }
    }
}
