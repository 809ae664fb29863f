import { type OptionCheck, refuseOptions } from './error.ts'
import { isTime, isUrl, VISIBLE } from './transport.ts'

/** Options as they were given, of any type. */
interface GivenOptions {
  readonly baseUrl?: unknown
  readonly sdkKey?: unknown
  readonly fetch?: unknown
  readonly timeoutMs?: unknown
  readonly retries?: unknown
}

/** What every client needs of the platform. */
const NEEDED = ['AbortController', 'atob', 'performance']
const MISSING = 'is missing on this platform: load a polyfill first'

/** Throws `invalid_request` for a faulty option of a client, and where the platform lacks something. */
export function checkOptions(given: GivenOptions = {}): void {
  const { baseUrl, sdkKey, timeoutMs = 1, retries = 0 } = given
  const platform = globalThis as Readonly<Record<string, unknown>>
  refuseOptions([
    ...NEEDED.map((name): OptionCheck => [platform[name] !== undefined, name, MISSING]),
    [(given.fetch ?? platform.fetch) !== undefined, 'fetch', MISSING],
    // Only events over HTTP are decoded.
    [platform.TextDecoder !== undefined || platform.WebSocket !== undefined, 'TextDecoder', MISSING],
    [isUrl(baseUrl), 'baseUrl', 'must be an http or https URL such as https://play.example.com'],
    [typeof sdkKey === 'string' && VISIBLE.test(sdkKey), 'sdkKey', 'must be an SDK key such as twsdk_…'],
    [isTime(timeoutMs), 'timeoutMs', 'must be 1 to 2147483647'],
    [typeof retries === 'number' && retries >= 0, 'retries', 'must be 0 or more'],
  ])
}

/** The prefix of a client's keys in a storage, which other services and SDK keys may use, too. */
export const storagePrefix = (baseUrl: string, sdkKey: string): string => `tierway:${hash(`${baseUrl} ${sdkKey}`)}`

/** FNV-1a. */
function hash(text: string): string {
  let state = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193)
  return (state >>> 0).toString(36)
}
