import { useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { sentence } from '../../ui/errors.ts'
import { Notice } from '../../ui/states.tsx'
import { type Draft, type DraftState, useDraftState } from '../draft/draft.ts'
import type { Problem } from '../problems/problems.ts'
import { formatJson } from '../text/json-edit.ts'
import { nearestNode, readPath } from '../text/json-path.ts'
import { createEditor, type Editor } from './editor.ts'
import type { Schema } from './schema.ts'

/** The view offers to break a longer first line. */
const LONG_LINE = 2_000

export default function JsonView(props: {
  readonly draft: Draft
  readonly problems: readonly Problem[]
  readonly at: string | undefined
  /** Counts jumps, so that a second jump to the same place takes effect, too. */
  readonly jump: number
  /** The text is beside the graph, which keeps the focus. */
  readonly isBeside?: boolean
}) {
  const { draft, problems, at, jump, isBeside = false } = props
  const state = useDraftState(draft)
  const { text } = state.history
  const parent = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<Editor>()

  useEffect(() => {
    if (!parent.current) return
    const created = createEditor(parent.current, {
      text: draft.text,
      onChange: (changed) => draft.setText(changed, 'json'),
      onUndo: () => draft.undo(),
      onRedo: () => draft.redo(),
    })
    setEditor(created)
    let isGone = false
    void readSchema().then((schema) => {
      if (schema && !isGone) created.setSchema(schema)
    })
    return () => {
      isGone = true
      created.destroy()
    }
  }, [draft])

  useEffect(() => editor?.setText(text), [editor, text])
  useEffect(() => {
    editor?.setDiagnostics(
      problems.map(({ from, to, kind, message }) => ({
        from,
        to,
        severity: kind === 'fault' ? 'error' : 'info',
        message: sentence(message),
      })),
    )
  }, [editor, problems])

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each jump, not for later typing
  useEffect(() => {
    if (!editor || at === undefined) return
    const place = placeOf(draft.now(), problems, at)
    if (place) editor.select(place.from, place.to, !isBeside)
  }, [editor, at, jump])

  const isLong = text.length > LONG_LINE && !text.slice(0, LONG_LINE).includes('\n')
  const format = () => {
    const { definition } = state.read
    if (definition) draft.setText(formatJson(text, definition.root))
  }
  return (
    <div className="panel">
      {isLong && state.read.definition && (
        <Notice tone="info">
          This text is one long line. <Button onClick={format}>Break it into lines</Button> Only spaces change.
        </Notice>
      )}
      <div ref={parent} />
      <div className="actions">
        <Button onClick={format} disabled={!state.read.definition}>
          Format
        </Button>
        <span className="hint">
          Ctrl Space completes, Ctrl F searches. Tab goes to the next control. The game client receives members that the
          service does not know.
        </span>
      </div>
    </div>
  )
}

function placeOf({ read }: DraftState, problems: readonly Problem[], at: string) {
  if (read.definition) return nearestNode(read.definition.root, readPath(at))
  return problems.find(({ pathText }) => pathText === at)
}

/** The same schema that other editors use. Without it, the editor completes nothing. */
async function readSchema(): Promise<Schema | undefined> {
  try {
    const response = await fetch('/schemas/scenario.json')
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}
