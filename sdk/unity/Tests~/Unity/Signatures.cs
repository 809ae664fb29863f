// The parts of Unity 2021.3 that the package uses, as signatures only: with them the files that need Unity compile
// without it. Nothing here runs.
using System;
using System.Collections.Generic;

namespace UnityEngine
{
    public class AsyncOperation
    {
        public event Action<AsyncOperation> completed
        {
            add { throw new NotSupportedException(); }
            remove { throw new NotSupportedException(); }
        }
    }

    public class MonoBehaviour { }

    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute { }

    public static class Debug
    {
        public static void Log(object message)
        {
            throw new NotSupportedException();
        }

        public static void LogError(object message)
        {
            throw new NotSupportedException();
        }

        public static void LogException(Exception exception)
        {
            throw new NotSupportedException();
        }
    }

    public static class Time
    {
        public static double realtimeSinceStartupAsDouble
        {
            get { throw new NotSupportedException(); }
        }
    }

    public static class PlayerPrefs
    {
        public static string GetString(string key, string defaultValue)
        {
            throw new NotSupportedException();
        }

        public static void SetString(string key, string value)
        {
            throw new NotSupportedException();
        }

        public static void DeleteKey(string key)
        {
            throw new NotSupportedException();
        }

        public static void Save()
        {
            throw new NotSupportedException();
        }
    }
}

namespace UnityEngine.Networking
{
    public class UnityWebRequestAsyncOperation : AsyncOperation { }

    public class DownloadHandler : IDisposable
    {
        public byte[] data
        {
            get { throw new NotSupportedException(); }
        }

        public void Dispose()
        {
            throw new NotSupportedException();
        }

        protected virtual bool ReceiveData(byte[] data, int dataLength)
        {
            throw new NotSupportedException();
        }
    }

    public sealed class DownloadHandlerBuffer : DownloadHandler { }

    public class DownloadHandlerScript : DownloadHandler
    {
        public DownloadHandlerScript(byte[] preallocatedBuffer)
        {
            throw new NotSupportedException();
        }
    }

    public class UploadHandler
    {
        public string contentType { get; set; }
    }

    public sealed class UploadHandlerRaw : UploadHandler
    {
        public UploadHandlerRaw(byte[] data)
        {
            throw new NotSupportedException();
        }
    }

    public class UnityWebRequest : IDisposable
    {
        public const string kHttpVerbPOST = "POST";

        public UnityWebRequest(Uri uri, string method, DownloadHandler downloadHandler, UploadHandler uploadHandler)
        {
            throw new NotSupportedException();
        }

        public enum Result
        {
            InProgress,
            Success,
            ConnectionError,
            ProtocolError,
            DataProcessingError,
        }

        public Result result
        {
            get { throw new NotSupportedException(); }
        }

        public string error
        {
            get { throw new NotSupportedException(); }
        }

        public long responseCode
        {
            get { throw new NotSupportedException(); }
        }

        public DownloadHandler downloadHandler { get; set; }

        public int redirectLimit { get; set; }

        public bool useHttpContinue { get; set; }

        public UnityWebRequestAsyncOperation SendWebRequest()
        {
            throw new NotSupportedException();
        }

        public void Abort()
        {
            throw new NotSupportedException();
        }

        public void SetRequestHeader(string name, string value)
        {
            throw new NotSupportedException();
        }

        public string GetResponseHeader(string name)
        {
            throw new NotSupportedException();
        }

        public Dictionary<string, string> GetResponseHeaders()
        {
            throw new NotSupportedException();
        }

        public void Dispose()
        {
            throw new NotSupportedException();
        }
    }
}
