import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { until } from '../test/harness/until.ts'

// The CPU profile of a running service, by line of its own code.

const INTERVAL_US = 200

/** What the inspector answers, as far as it is read. */
export interface Profile {
  readonly nodes: readonly {
    readonly callFrame: { readonly url: string; readonly functionName: string }
    readonly hitCount?: number
    readonly positionTicks?: readonly { readonly line: number; readonly ticks: number }[]
  }[]
}

/** Profiles a process that was started with `--inspect-port`, while `work` goes on. */
export async function profile(pid: number, port: number, work: () => Promise<unknown>): Promise<Profile> {
  process.kill(pid, 'SIGUSR1')
  let url = ''
  await until('the inspector listens', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined)
    url = answer ? (((await answer.json()) as { webSocketDebuggerUrl: string }[])[0]?.webSocketDebuggerUrl ?? '') : ''
    return url !== ''
  })
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let last = 0
  const ask = (method: string, params: object = {}): Promise<{ profile: Profile }> =>
    new Promise((resolve) => {
      const id = ++last
      const listen = (data: unknown) => {
        const message = JSON.parse(String(data))
        if (message.id !== id) return
        socket.off('message', listen)
        resolve(message.result)
      }
      socket.on('message', listen)
      socket.send(JSON.stringify({ id, method, params }))
    })
  try {
    await ask('Profiler.enable')
    await ask('Profiler.setSamplingInterval', { interval: INTERVAL_US })
    await ask('Profiler.start')
    await work()
    return (await ask('Profiler.stop')).profile
  } finally {
    socket.close()
  }
}

export interface ProfiledLine {
  /** Of all time in which the process did something. */
  readonly percent: number
  /** The file below `dist` with the line; a package, `node:` or a part of V8 as a whole. */
  readonly place: string
  readonly text: string
}

/** The lines of a build's own code and what else took time, the dearest first. */
export async function linesOf({ nodes }: Profile, dist: string): Promise<ProfiledLine[]> {
  const ticks = new Map<string, number>()
  let all = 0
  const add = (place: string, count: number) => {
    ticks.set(place, (ticks.get(place) ?? 0) + count)
    all += count
  }
  for (const { callFrame, hitCount = 0, positionTicks = [] } of nodes) {
    const { url, functionName } = callFrame
    if (functionName === '(idle)' || functionName === '(root)') continue
    const path = url.startsWith('file://') ? fileURLToPath(url) : ''
    if (path.startsWith(dist))
      for (const { line, ticks: count } of positionTicks) add(`${relative(dist, path)}:${line}`, count)
    else add(/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? (url || functionName), hitCount)
  }
  const found = [...ticks].sort(([, a], [, b]) => b - a)
  return Promise.all(
    found.map(async ([place, count]) => ({ percent: (100 * count) / all, place, text: await textAt(dist, place) })),
  )
}

async function textAt(dist: string, place: string): Promise<string> {
  const [, file, line] = /^(.+\.js):(\d+)$/.exec(place) ?? []
  if (file === undefined) return ''
  const lines = (await readFile(`${dist}/${file}`, 'utf8').catch(() => '')).split('\n')
  return (lines[Number(line) - 1] ?? '').trim().slice(0, 90)
}
