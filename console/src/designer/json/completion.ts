import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'
import { handlesOf, readDefinition } from '../model/definition.ts'
import { descriptionAt, membersAt, type Schema, type SchemaStep, valuesAt } from './schema.ts'

const decode = (text: string): string => {
  try {
    return String(JSON.parse(text))
  } catch {
    return text.replaceAll('"', '')
  }
}

function stringAt(state: EditorState, object: SyntaxNode, name: string): string | undefined {
  for (const property of object.getChildren('Property')) {
    const key = property.getChild('PropertyName')
    const value = property.getChild('String')
    if (key && value && decode(state.sliceDoc(key.from, key.to)) === name)
      return decode(state.sliceDoc(value.from, value.to))
  }
  return undefined
}

function stepsTo(state: EditorState, node: SyntaxNode): SchemaStep[] {
  const steps: SchemaStep[] = []
  for (let at: SyntaxNode | null = node; at?.parent; at = at.parent) {
    const { parent }: { parent: SyntaxNode } = { parent: at.parent }
    if (parent.name === 'Array') steps.unshift('item')
    if (at.name === 'Property' && parent.name === 'Object') {
      const key = at.getChild('PropertyName')
      const member = key ? decode(state.sliceDoc(key.from, key.to)) : ''
      steps.unshift({ member, type: stringAt(state, parent, 'type') })
    }
  }
  return steps
}

export const completeDefinition =
  (schema: Schema) =>
  (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context
    const node = syntaxTree(state).resolveInner(pos, -1)
    const isText = node.name === 'PropertyName' || node.name === 'String'
    const from = isText ? node.from : pos
    if (!isText && !context.explicit) return null
    const property = node.name === 'PropertyName' ? node.parent : node
    const object = node.name === 'PropertyName' ? property?.parent : node.name === 'Object' ? node : null
    if (object?.name === 'Object')
      return { from, options: members(state, schema, object, isText), validFor: /^"?[\w$-]*"?$/ }
    const options = values(state, schema, node)
    if (options.length === 0) return null
    const to = isText ? node.to : pos
    // A person who asks for completion in an existing value is offered all other values.
    return context.explicit ? { from, to, options, filter: false } : { from, to, options, validFor: /^"?[\w.-]*"?$/ }
  }

function members(state: EditorState, schema: Schema, object: SyntaxNode, isText: boolean): Completion[] {
  const present = object.getChildren('Property').flatMap((property) => {
    const key = property.getChild('PropertyName')
    return key ? [decode(state.sliceDoc(key.from, key.to))] : []
  })
  const known = membersAt(schema, stepsTo(state, object), stringAt(state, object, 'type'))
  return [...known]
    .filter(([name]) => isText || !present.includes(name))
    .map(([name, { description }]) => ({
      label: `"${name}"`,
      type: 'property',
      info: description,
      apply: isText ? `"${name}"` : `"${name}": `,
    }))
}

const NAMES_NODE = ['from', 'to', 'start', 'passNodeId']

function values(state: EditorState, schema: Schema, node: SyntaxNode): Completion[] {
  const property = closest(node, 'Property')
  const key = property?.getChild('PropertyName')
  if (!property || !key) return []
  const name = decode(state.sliceDoc(key.from, key.to))
  if (NAMES_NODE.includes(name) || name === 'handle') return fromDraft(state, property, name)
  return valuesAt(schema, stepsTo(state, property)).map((value) => ({ label: JSON.stringify(value), type: 'enum' }))
}

function fromDraft(state: EditorState, property: SyntaxNode, name: string): Completion[] {
  const { definition } = readDefinition(state.doc.toString())
  if (!definition) return []
  if (name !== 'handle')
    return [...definition.byId.values()].map(({ id, type }) => ({
      label: JSON.stringify(id),
      detail: type,
      type: 'constant',
    }))
  const source = property.parent ? stringAt(state, property.parent, 'from') : undefined
  const node = source === undefined ? undefined : definition.byId.get(source)
  return node ? handlesOf(definition, node).map((handle) => ({ label: JSON.stringify(handle), type: 'constant' })) : []
}

function closest(node: SyntaxNode, name: string): SyntaxNode | null {
  for (let at: SyntaxNode | null = node; at; at = at.parent) if (at.name === name) return at
  return null
}

export function describeAt(
  state: EditorState,
  schema: Schema,
  offset: number,
): { place: SyntaxNode; text: string } | null {
  const node = syntaxTree(state).resolveInner(offset, 1)
  if (node.name !== 'PropertyName' || !node.parent) return null
  const text = descriptionAt(schema, stepsTo(state, node.parent))
  return text === undefined ? null : { place: node, text }
}
