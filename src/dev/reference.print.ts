import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript-5'

// `npm run schema`: writes docs/reference.md, the reference of the libraries, from their docstrings. The page is
// committed. Not part of the service.

const WIDTH = 120
const LIBRARIES = [
  {
    name: 'tierway/client',
    entry: 'src/client/index.ts',
    guide: 'client.md',
    also: ', which is also `tierway-client`',
  },
  { name: 'tierway/webhook', entry: 'src/sdk/webhook.ts', guide: 'webhook.md#verifying-the-signature', also: '' },
  { name: 'tierway/server', entry: 'src/sdk/server.ts', guide: 'server.md', also: '' },
]

type Exported = ts.DeclarationStatement | ts.VariableStatement

const sourceOf = (path: string): ts.SourceFile =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true)

/** Private members are not shown, nor constructors without a docstring, which are for the library itself. */
const isShown = (node: ts.Node): boolean => {
  const { name } = node as ts.ClassElement
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  return (
    !(name && ts.isPrivateIdentifier(name)) &&
    !(ts.isConstructorDeclaration(node) && textOf(node) === '') &&
    !modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) &&
    !ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
  )
}

/** What a file exports, with what it passes on from other files, in the order of the text. */
function exportsOf(path: string): Exported[] {
  const source = sourceOf(path)
  return source.statements.flatMap((statement): Exported[] => {
    if (ts.isExportDeclaration(statement)) {
      const from = new URL((statement.moduleSpecifier as ts.StringLiteral).text, `file:///${path}`).pathname.slice(1)
      const names = (statement.exportClause as ts.NamedExports).elements.map(({ name }) => name.text)
      return names.map((name) => {
        const found = exportsOf(from).find((one) => nameOf(one) === name)
        if (!found) throw new Error(`${from} does not declare ${name}`)
        return found
      })
    }
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ? [statement as Exported] : []
  })
}

const nameOf = (node: Exported): string =>
  (ts.isVariableStatement(node) ? node.declarationList.declarations[0]?.name : node.name)?.getText() ?? ''

function textOf(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).slice(-1)
  return (ts.getTextOfJSDocComment(doc?.comment) ?? '').replace(/\{@link (\w+)\}/g, '`$1`')
}

const examplesOf = (node: ts.Node): string[] =>
  ts
    .getJSDocTags(node)
    .filter(({ tagName }) => tagName.text === 'example')
    .map(({ comment }) => (ts.getTextOfJSDocComment(comment) ?? '').trim())

function declarationOf(node: ts.Node): string {
  const { body, initializer } = node as { body?: ts.Node; initializer?: ts.Node }
  const end = (body ?? initializer)?.getStart() ?? node.getEnd()
  const text = node.getSourceFile().text.slice(node.getStart(), end)
  return text.replace(/\s*=?\s*$/, '').replace(/^(export |readonly |async )+/, '')
}

/** The same in one line. */
const signatureOf = (node: ts.Node): string =>
  declarationOf(node)
    .replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
    .replaceAll(/([^{;|\s])\n(?=\s*(?:readonly \w|\/\*))/g, '$1;')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/,(?= [)}])/g, '')
    .replaceAll(/(?<=\() | (?=\))/g, '')
    .replace(': | ', ': ')
    .replace(/^get (\w+)\(\)/, '$1')

/** Breaks a text into lines. Code that fits into a line is not broken. */
function wrap(text: string, indent: string): string {
  const parts: readonly string[] = text.match(/[^\s`]*(?:`[^`]*`[^\s`]*)+|\S+/g) ?? []
  const words = parts.flatMap((part) => (indent.length + part.length > WIDTH ? part.split(' ') : [part]))
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${lines.length === 0 ? '' : indent}${word}`)
  }
  return lines.join('\n')
}

const paragraphs = (text: string): string[] => text.split(/\n\s*\n/).filter((part) => part !== '')

function membersOf(node: Exported): readonly ts.Node[] {
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) return node.members.filter(isShown)
  return ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type) ? node.type.members : []
}

function itemOf(member: ts.Node): string {
  const code = `\`${signatureOf(member)}\``
  const text = textOf(member).replaceAll(/\s*\n\s*/g, ' ')
  return wrap(text === '' ? `- ${code}` : `- ${code}: ${text}`, '  ')
}

function sectionOf(node: Exported): string {
  const members = membersOf(node)
  const isList = members.length > 0 || ts.isClassDeclaration(node)
  const base =
    (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.heritageClauses
      ? `It ${node.heritageClauses.map((clause) => clause.getText().replace(/ (\w+)/g, ' `$1`')).join(', ')}.`
      : ''
  const code = isList ? '' : `\`\`\`ts\n${declarationOf(node)}\n\`\`\``
  return [
    `### ${nameOf(node)}`,
    code,
    ...paragraphs([textOf(node), base].filter(Boolean).join(' ')).map((part) => wrap(part, '')),
    members.map(itemOf).join('\n'),
    ...examplesOf(node),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function printReference(): string {
  const parts = LIBRARIES.map(({ name, entry, guide, also }) =>
    [
      `## ${name}`,
      wrap(`The exports of \`${name}\`${also}. Its guide is [${guide.replace(/#.*/, '')}](${guide}).`, ''),
      ...exportsOf(entry).map(sectionOf),
    ].join('\n\n'),
  )
  const head =
    '<!-- Written by `npm run schema` from the docstrings of the libraries. Change those instead. -->\n\n# Reference of the libraries'
  return `${[head, ...parts].join('\n\n')}\n`
}

writeFileSync(new URL('../../docs/reference.md', import.meta.url), printReference())
