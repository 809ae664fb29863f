import dns from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { LookupFunction } from 'node:net'

const HOSTS_FILE = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
/** Timeout of one query. The second query is the last: by then the webhook call has timed out. */
const ANSWER_TIMEOUT_MS = 1_500

/**
 * Resolves names as the system does, each with one lookup at a time, and only while its name servers answer. The
 * lookups of a process share two threads: two names without an answer would block all other lookups.
 */
export function sharedLookup({ hostsFile = HOSTS_FILE } = {}): LookupFunction {
  type Answer = Parameters<Parameters<LookupFunction>[2]>
  const waiting = new Map<string, ((...answer: Answer) => void)[]>()
  return (hostname, options, callback) => {
    const known = waiting.get(hostname)
    if (known) {
      known.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(hostname, callbacks)
    const done = (...answer: Answer) => {
      waiting.delete(hostname)
      for (const callback of callbacks) callback(...answer)
    }
    void isAnsweredFor(hostname, hostsFile).then((isAnswered) => {
      if (isAnswered) dns.lookup(hostname, { ...options, all: true }, done)
      else done(Object.assign(new Error('no name server answers'), { code: 'EAI_AGAIN' }), [])
    })
  }
}

/**
 * Whether the system's lookup will return soon, with an address or with none. Asks the name servers without a thread.
 */
async function isAnsweredFor(hostname: string, hostsFile: string): Promise<boolean> {
  // Only the system knows these names.
  if (!hostname.includes('.') || /(^|\.)localhost\.?$/i.test(hostname)) return true
  if (await isListed(hostname, hostsFile)) return true
  try {
    const resolver = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: 2 })
    resolver.setServers(dns.getServers())
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    return answers.every((answer) => answer.status === 'fulfilled' || answer.reason.code !== 'ETIMEOUT')
  } catch {
    // Names that this resolver rejects are left to the system.
    return true
  }
}

/** Whether the machine's hosts file has the name. Then no name server needs to answer. */
async function isListed(hostname: string, hostsFile: string): Promise<boolean> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '')
  const namesOf = (line: string) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/).slice(1)
  return text.split('\n').some((line) => namesOf(line).includes(hostname.toLowerCase()))
}
