import { keepText } from '../../ui/storage.ts'

/** A draft in this browser, until it is published or discarded. */
export interface KeptDraft {
  readonly text: string
  /** The version that it began with; 0 for a new scenario. */
  readonly baseVersion: number
  /** In milliseconds. */
  readonly savedAt: number
  /** The shared draft that it is a copy of, if any. */
  readonly shared?: Shared
}

/** A shared draft, as this browser last had it. */
export interface Shared {
  readonly draftId: string
  readonly name: string
  readonly revision: number
  readonly text: string
}

const PREFIX = 'tierway.draft'

export const draftKey = (projectId: string, environment: string, scenarioId: string): string =>
  [PREFIX, projectId, environment, scenarioId].map((part) => encodeURIComponent(part)).join('/')

export function readKept(key: string): KeptDraft | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    return isDraft(kept) ? kept : undefined
  } catch {
    return undefined
  }
}

/** False when the browser's storage is full or blocked. */
export const keep = (key: string, draft: KeptDraft): boolean => keepText(localStorage, key, JSON.stringify(draft))

export const forget = (key: string): void => localStorage.removeItem(key)

export function keptIds(projectId: string, environment: string): readonly string[] {
  const prefix = draftKey(projectId, environment, '')
  return Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '')
    .filter((key) => key.startsWith(prefix))
    .map((key) => decodeURIComponent(key.slice(prefix.length)))
    .sort()
}

function isDraft(value: unknown): value is KeptDraft {
  const { text, baseVersion, savedAt, shared } = (value ?? {}) as Partial<KeptDraft>
  const isOwn = typeof text === 'string' && typeof baseVersion === 'number' && typeof savedAt === 'number'
  return isOwn && (shared === undefined || typeof shared?.draftId === 'string')
}
