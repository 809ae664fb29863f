import { readFileSync } from 'node:fs'

/** How many files and connections this process may have open (`ulimit -n`). Null where the system does not say. */
export function descriptorLimit(): number | null {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
