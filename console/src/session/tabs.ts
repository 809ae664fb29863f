/** The messages between the tabs of a browser. Only pages of the service can read them, and nothing stores them. */
export type TabMessage =
  | { readonly kind: 'ask' }
  | { readonly kind: 'session'; readonly token: string }
  /** `inPlaceOf` is the id of the session that the person replaced. */
  | { readonly kind: 'began'; readonly token: string; readonly inPlaceOf: string | null }
  | { readonly kind: 'ended'; readonly id: string; readonly why: string }

/** The other tabs of this browser. A message reaches all of them, and not its sender. */
export function joinTabs(receive: (message: TabMessage) => void): { readonly send: (message: TabMessage) => void } {
  const channel = new BroadcastChannel('tierway.session')
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data)
  return { send: (message) => channel.postMessage(message) }
}
