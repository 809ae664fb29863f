import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { changeBetween } from '../text/json-edit.ts'
import { completeDefinition, describeAt } from './completion.ts'
import type { Schema } from './schema.ts'

export type { Diagnostic } from '@codemirror/lint'

/** Marks texts that come from the draft, so that they do not go back to it. */
const fromDraft = Annotation.define<boolean>()

const theme = EditorView.theme({
  '&': {
    height: 'max(420px, calc(100vh - 330px))',
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    fontSize: '13px',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-scroller': { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent-soft) 40%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-panels, .cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-tooltip': { border: '1px solid var(--line)', maxWidth: '480px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-ground)',
    color: '#fff',
  },
  '.cm-hover': { padding: '4px 8px' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent)', border: '0' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-panel input, .cm-panel button': { fontSize: '13px' },
})

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--warn)' },
  { tag: [tags.bool, tags.null], color: 'var(--bad)' },
])

export interface Editor {
  /** Shows the text of the draft. Only the difference is applied, so that the cursor stays. */
  setText(text: string): void
  setSchema(schema: Schema): void
  setDiagnostics(diagnostics: readonly Diagnostic[]): void
  select(from: number, to: number, isFocused: boolean): void
  destroy(): void
}

export function createEditor(
  parent: HTMLElement,
  {
    text,
    onChange,
    onUndo,
    onRedo,
  }: {
    readonly text: string
    readonly onChange: (text: string) => void
    readonly onUndo: () => void
    readonly onRedo: () => void
  },
): Editor {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce
  const completion = new Compartment()
  const run = (command: () => void) => () => {
    command()
    return true
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        nonce ? EditorView.cspNonce.of(nonce) : [],
        // The history is that of the draft, which all views share.
        keymap.of([
          { key: 'Mod-z', run: run(onUndo), preventDefault: true },
          { key: 'Mod-y', run: run(onRedo), preventDefault: true },
          { key: 'Mod-Shift-z', run: run(onRedo), preventDefault: true },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...searchKeymap,
          ...foldKeymap,
          ...lintKeymap,
          ...defaultKeymap,
        ]),
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        json(),
        syntaxHighlighting(colours),
        theme,
        completion.of([]),
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ 'aria-label': 'Definition as JSON', tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || update.transactions.some((one) => one.annotation(fromDraft))) return
          onChange(update.state.doc.toString())
        }),
      ],
    }),
  })
  return {
    setText(next) {
      const before = view.state.doc.toString()
      if (next !== before) view.dispatch({ changes: changeBetween(before, next), annotations: fromDraft.of(true) })
    },
    setSchema: (schema) => view.dispatch({ effects: completion.reconfigure(assistance(schema)) }),
    setDiagnostics(diagnostics) {
      const { length } = view.state.doc
      const inside = diagnostics.map((one) => ({
        ...one,
        from: Math.min(one.from, length),
        to: Math.min(Math.max(one.from, one.to), length),
      }))
      view.dispatch(setDiagnostics(view.state, inside))
    },
    select(from, to, isFocused) {
      const { length } = view.state.doc
      const [anchor, head] = [Math.min(from, length), Math.min(to, length)]
      view.dispatch({
        selection: { anchor, head },
        effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
      })
      if (isFocused) view.focus()
    },
    destroy: () => view.destroy(),
  }
}

const assistance = (schema: Schema): Extension => [
  autocompletion({ override: [completeDefinition(schema)] }),
  hoverTooltip((view, offset) => {
    const found = describeAt(view.state, schema, offset)
    if (!found) return null
    return {
      pos: found.place.from,
      end: found.place.to,
      create: () => {
        const dom = document.createElement('div')
        dom.className = 'cm-hover'
        dom.textContent = found.text
        return { dom }
      },
    }
  }),
]
