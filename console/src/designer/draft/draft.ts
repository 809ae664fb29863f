import { useSyncExternalStore } from 'react'
import { type Definition, type ReadDefinition, readDefinition } from '../model/definition.ts'
import type { Edit } from '../model/edits.ts'
import { changeText, type History, historyOf, redo, undo } from './history.ts'
import { forget, type KeptDraft, keep, readKept, type Shared } from './kept-drafts.ts'

/** A published version. Version 0, with an empty text, stands for a scenario without a version. */
export interface Version {
  readonly version: number
  readonly text: string
}

export interface DraftState {
  readonly history: History
  readonly read: ReadDefinition
  /** The last text that was a JSON object, for views that cannot show anything else. */
  readonly lastRead: Definition | undefined
  readonly base: Version
  readonly isChanged: boolean
  /** When the draft that was found in this browser was saved. Null for a draft of this visit. */
  readonly restoredAt: number | null
  /** False when the browser could not keep the draft. */
  readonly isKept: boolean
  /** The shared draft that it is a copy of. Null for one of this browser alone. */
  readonly shared: Shared | null
}

const SAVE_AFTER_MS = 250
const drafts = new Map<string, Draft>()

/** The draft of a scenario. It outlives the page, so that its history does, too. */
export function openDraft(key: string, base: Version, kept: KeptDraft | undefined): Draft {
  const open = drafts.get(key)
  if (open) return open
  const draft = new Draft(key, base, kept)
  drafts.set(key, draft)
  return draft
}

/** Forgets the draft of a scenario, in this tab and in the browser. */
export function discardDraft(key: string): void {
  drafts.get(key)?.end()
  drafts.delete(key)
  forget(key)
}

export const findDraft = (key: string): Draft | undefined => drafts.get(key)

/** The one text that all views show and change, with its history. */
export class Draft {
  private readonly key: string
  private state: DraftState
  private readonly listeners = new Set<() => void>()
  private saving: ReturnType<typeof setTimeout> | undefined
  private hasEnded = false

  constructor(key: string, base: Version, kept: KeptDraft | undefined) {
    this.key = key
    const text = kept?.text ?? base.text
    const read = readDefinition(text)
    this.state = {
      history: historyOf(text),
      read,
      lastRead: read.definition,
      base,
      isChanged: text !== base.text,
      restoredAt: kept && !kept.shared && text !== base.text ? kept.savedAt : null,
      isKept: true,
      shared: kept?.shared ?? null,
    }
    addEventListener('pagehide', () => this.save())
    // Another tab of this browser has the same draft: its changes arrive as one step that can be undone.
    addEventListener('storage', (event) => {
      if (event.key !== key) return
      const other = readKept(key)
      if (other) this.set({ ...this.state, shared: other.shared ?? null })
      if (other && other.text !== this.text)
        this.apply(changeText(this.state.history, other.text, '', Date.now()), false)
    })
  }

  get text(): string {
    return this.state.history.text
  }

  readonly now = (): DraftState => this.state

  readonly listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Changes of one kind in quick succession are one step of the history. */
  setText(text: string, kind = ''): void {
    this.apply(changeText(this.state.history, text, kind, Date.now()))
  }

  edit(edit: Edit, kind = ''): void {
    const { definition } = this.state.read
    if (definition) this.setText(edit(definition), kind)
  }

  undo(): void {
    this.apply(undo(this.state.history))
  }

  redo(): void {
    this.apply(redo(this.state.history))
  }

  /** Continues from another version, such as the one that was just published. */
  rebase(base: Version, text: string): void {
    this.state = { ...this.state, base, restoredAt: null }
    this.apply(changeText(this.state.history, text, '', Date.now()))
    this.save()
  }

  /** The text is that of a shared draft from now on, or was exchanged with it. Null: it is of this browser alone. */
  link(shared: Shared | null): void {
    this.set({ ...this.state, shared })
    this.save()
  }

  /** Hides the notice that the draft was restored. */
  accept(): void {
    this.set({ ...this.state, restoredAt: null })
  }

  /** A draft that was discarded is never saved again. */
  end(): void {
    this.hasEnded = true
    clearTimeout(this.saving)
  }

  private apply(history: History, isOwn = true): void {
    const { base, lastRead } = this.state
    const isSame = history.text === this.text
    const read = isSame ? this.state.read : readDefinition(history.text)
    this.set({
      ...this.state,
      history,
      read,
      lastRead: read.definition ?? lastRead,
      isChanged: history.text !== base.text,
    })
    if (!isOwn) return
    clearTimeout(this.saving)
    this.saving = setTimeout(() => this.save(), SAVE_AFTER_MS)
  }

  private save(): void {
    clearTimeout(this.saving)
    if (this.hasEnded) return
    const { base, isChanged, shared } = this.state
    if (!isChanged && !shared) {
      forget(this.key)
      return
    }
    const before = readKept(this.key)
    const isSame = before?.text === this.text && before.baseVersion === base.version
    if (isSame && before.shared?.revision === shared?.revision && before.shared?.draftId === shared?.draftId) return
    const kept = { text: this.text, baseVersion: base.version, savedAt: Date.now(), ...(shared && { shared }) }
    const isKept = keep(this.key, kept)
    if (isKept !== this.state.isKept) this.set({ ...this.state, isKept })
  }

  private set(state: DraftState): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }
}

export const useDraftState = (draft: Draft): DraftState => useSyncExternalStore(draft.listen, draft.now)
