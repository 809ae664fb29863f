import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type LaunchOptions, type Page } from 'playwright-core'
import { findProgram } from './needs.ts'

const CLIENT = fileURLToPath(new URL('../../dist/client', import.meta.url))
/** The headless shell first: starts and pages of it cost a third of the CPU time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The Chromium of the system; npm installs none. */
const executablePath = findProgram(NAMES)

/** Why tests in a browser cannot run here, or an empty text. */
export const withoutChromium = executablePath === undefined ? 'SKIPPED, chromium is not installed: ' : ''

/** Chromium refuses its sandbox to root. */
const launchOptions: LaunchOptions = {
  executablePath,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
}

let shared: Promise<Browser> | undefined

/**
 * The browser of this worker: a start and the first page cost two seconds of CPU time. Files close their contexts, not
 * the browser, which ends with the worker.
 */
export async function sharedBrowser(): Promise<Browser> {
  if (!(await shared)?.isConnected()) shared = chromium.launch(launchOptions)
  return shared as Promise<Browser>
}

/**
 * Runs a program in a page: the body of an async function that can use the library and `given`. Resolves with the
 * result of the program. The library is the compiled one, from the page's own origin.
 */
export async function inPage<Result>(page: Page, program: string, given: unknown = null): Promise<Result> {
  const client = page.url().includes(OTHER_PATH) ? './client/index.js' : '/play/client/index.js'
  return page.evaluate(`(async (given) => {
    const { localStorage: kept, memoryStorage, Outbox, Tierway, TierwayError } = await import('${client}')
    ${program}
  })(${JSON.stringify(given)})`)
}

const OTHER_PATH = '/other/'

/** A site of another origin, with an empty page and the library. */
export interface Site {
  readonly origin: string
  readonly page: string
  close(): Promise<void>
}

export async function startSite(): Promise<Site> {
  const server = createServer(async (request, response) => {
    const name = request.url?.split('/').at(-1) ?? ''
    if (name === '') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
    const isThere = (await readdir(CLIENT)).includes(name)
    if (!isThere) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(await readFile(join(CLIENT, name)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    page: `${origin}${OTHER_PATH}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
