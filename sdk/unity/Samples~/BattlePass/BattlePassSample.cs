using System;
using System.Threading;
using System.Threading.Tasks;
using Tierway;
using UnityEngine;

/// <summary>Logs a player in and plays a little. Add it to any object, and fill in the three fields.</summary>
public sealed class BattlePassSample : MonoBehaviour
{
    [SerializeField]
    private string baseUrl = "http://127.0.0.1:4000";

    [SerializeField]
    private string sdkKey = "twsdk_…";

    [SerializeField]
    private string player = "ada";

    private readonly CancellationTokenSource destroyed = new CancellationTokenSource();
    private TierwayClient tierway;

    private async void Start()
    {
        tierway = new TierwayClient(
            new TierwayOptions
            {
                BaseUrl = baseUrl,
                SdkKey = sdkKey,
                TokenStorage = new PlayerPrefsTokenStorage(),
                OnError = Debug.LogException,
            });
        try
        {
            await PlayAsync(destroyed.Token);
        }
        catch (OperationCanceledException)
        {
            // The object was destroyed.
        }
        catch (TierwayException error)
        {
            Debug.LogError(error.Code + ": " + error.Message);
        }
    }

    private async Task PlayAsync(CancellationToken cancellationToken)
    {
        if (!await tierway.RestoreAsync(cancellationToken))
        {
            var customData = new JsonWriter().BeginObject().Name("player").Value(player).EndObject().ToString();
            await tierway.LoginAsync(new LoginRequest { CustomData = customData }, cancellationToken: cancellationToken);
        }
        var season = await tierway.Scenario("season-1").StartAsync(cancellationToken: cancellationToken);
        var pass = season.BattlePass("pass");
        pass.LevelUp += up => Debug.Log("Level " + up.ToLevel + "!");

        var added = await pass.AddXpAsync(600, "match", cancellationToken: cancellationToken);
        Debug.Log("At level " + added.Level + " with " + added.Xp + " xp.");
        var all = await pass.ClaimAllAsync(cancellationToken: cancellationToken);
        foreach (var tier in all.Claimed) Debug.Log("Claimed the " + tier.Track + " tier of level " + tier.Level + ".");
    }

    private void OnDestroy()
    {
        destroyed.Cancel();
        if (tierway != null) tierway.Dispose();
    }
}
