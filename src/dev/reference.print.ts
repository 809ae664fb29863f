import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5'

// `npm run schema`: writes docs/reference.md, the reference of the libraries, from their docstrings. The page is
// committed. Not part of the service.

const WIDTH = 120
const UNITY = 'sdk/unity/Runtime'
const LIBRARIES = [
  {
    name: 'tierway/client',
    entry: 'src/client/index.ts',
    guide: 'client.md',
    also: ', which is also `tierway-client`',
  },
  {
    name: 'tierway-server/webhook',
    entry: 'src/sdk/webhook.ts',
    guide: 'webhook.md#verifying-the-signature',
    also: '',
  },
  { name: 'tierway-server', entry: 'src/sdk/server.ts', guide: 'server.md', also: '' },
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

interface Pair {
  readonly javascript: string
  /** The class of the same members, and those whose members are of this one in JavaScript. */
  readonly unity: readonly [string, ...string[]]
  /** What the other library has for members of other names. A text in words where it needs none. */
  readonly inUnity?: Readonly<Record<string, string>>
  readonly inJavascript?: Readonly<Record<string, string>>
}

/** Classes with the same members: `addXp` is `AddXpAsync`, and the event `granted` is `Granted`. */
const PAIRS: readonly Pair[] = [
  {
    javascript: 'Tierway',
    unity: ['TierwayClient', 'Account', 'Inbox'],
    inUnity: {
      switchPlayer: 'SwitchAsync',
      inbox: 'Inbox.ListAsync',
      claimMessage: 'Inbox.ClaimAsync',
      claimAllMessages: 'Inbox.ClaimAllAsync',
      readMessages: 'Inbox.ReadAsync',
      update: 'Account.UpdateAsync',
      identities: 'Account.IdentitiesAsync',
      unlink: 'Account.UnlinkAsync',
      sessions: 'Account.SessionsAsync',
      endSessions: 'Account.EndSessionAsync, Account.EndOtherSessionsAsync, Account.EndAllSessionsAsync',
      exportData: 'Account.ExportAsync',
      deletePlayer: 'Account.DeleteAsync',
    },
    inJavascript: {
      IsSignedIn: '`playerId` is not null',
      Account: 'members of `Tierway` itself',
      Inbox: 'members of `Tierway` itself',
      Dispose: 'nothing is to be ended',
    },
  },
  {
    javascript: 'PlayerStorage',
    unity: ['PlayerStorage'],
    inUnity: { getRaw: 'GetAsync', setRaw: 'SetAsync' },
  },
  { javascript: 'Scenario', unity: ['Scenario'], inJavascript: { ScenarioId: 'the argument of `scenario`' } },
  {
    javascript: 'ScenarioSession',
    unity: ['ScenarioSession'],
    inUnity: { isResumed: 'Resumed', next: 'NextScenarioId, NextRunId' },
    inJavascript: { Boosted: '`granted` has the boosts, too' },
  },
  { javascript: 'BattlePassSession', unity: ['BattlePass'] },
  {
    javascript: 'LevelSession',
    unity: ['LevelNode'],
    inJavascript: { ProgressAsync: '`progress` of the pass' },
  },
  { javascript: 'Outbox', unity: ['Outbox'], inUnity: { size: 'CountAsync', close: 'Dispose' } },
  {
    javascript: 'CallOptions',
    unity: ['CallOptions'],
    inUnity: { timeoutMs: 'Timeout', retries: 'MaxRetries', signal: 'the argument `cancellationToken`' },
  },
  {
    javascript: 'EventOptions',
    unity: ['EventFilter'],
    inUnity: { after: 'the argument `after`', signal: 'the argument `cancellationToken`' },
  },
  {
    javascript: 'TierwayError',
    unity: ['TierwayException'],
    inUnity: { outcomeUnknown: 'IsOutcomeUnknown', is: '`catch (TierwayException)`', toJSON: 'Message' },
    inJavascript: { RetryAfter: 'calls wait for it by themselves' },
  },
]

/** The public members of the classes of the library for Unity. */
function unityMembers(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of readdirSync(UNITY).filter((name) => name.endsWith('.cs'))) {
    let members: string[] = []
    for (const line of readFileSync(`${UNITY}/${file}`, 'utf8').split('\n')) {
      const [, opened] = /^ {4}\S.*\bclass (\w+)/.exec(line) ?? []
      if (opened !== undefined) {
        members = []
        found.set(opened, members)
      }
      const [, member] =
        /^ {8}public (?:(?:event|async|override|static|const) )*[\w.]+(?:<.*>)?\?? (\w+)/.exec(line) ?? []
      if (member !== undefined && !members.includes(member)) members.push(member)
    }
  }
  return found
}

/** The members of an export of the library for JavaScript. The events of `on` are members, too. */
function javascriptMembers(name: string): string[] {
  const exported = exportsOf('src/client/index.ts')
  const node = exported.find((one) => nameOf(one) === name)
  if (!node) throw new Error(`the library for JavaScript does not export ${name}`)
  return membersOf(node).flatMap((member): string[] => {
    if (ts.isConstructorDeclaration(member)) return []
    const own = (member as ts.ClassElement).name?.getText() ?? ''
    if (own !== 'on') return [own]
    const [, events] = /keyof (\w+)/.exec(member.getText()) ?? []
    const listed = exported.find((one) => nameOf(one) === events)
    if (!listed) throw new Error(`the library for JavaScript does not export ${events}`)
    return membersOf(listed).map((event) => (event as ts.TypeElement).name?.getText() ?? '')
  })
}

/** What each library has for each member of the other. Throws for a member that one of them lacks. */
function printPairs(): string {
  const all = unityMembers()
  const parts = PAIRS.map(({ javascript, unity, inUnity = {}, inJavascript = {} }) => {
    const members = unity.flatMap((name) =>
      (all.get(name) ?? []).map((member) => (name === unity[0] ? member : `${name}.${member}`)),
    )
    const left = new Set(members)
    const code = (name: string): string => {
      if (/\W/.test(name.replaceAll(/[., ]/g, ''))) return name
      return name
        .split(', ')
        .map((member) => {
          if (!members.includes(member)) throw new Error(`the library for Unity has no ${member} of ${unity[0]}`)
          left.delete(member)
          return `\`${member}\``
        })
        .join(', ')
    }
    const rows = javascriptMembers(javascript).map((member) => {
      const name = member.replace(/^on(?=[A-Z])/, '').replace(/^./, (first) => first.toUpperCase())
      const other = inUnity[member] ?? [name, `${name}Async`].find((one) => members.includes(one))
      if (other === undefined) throw new Error(`the library for Unity has nothing for ${javascript}.${member}`)
      return `| \`${member}\` | ${code(other)} |`
    })
    const rest = [...left].map((member) => {
      const other = inJavascript[member]
      if (other === undefined) throw new Error(`the library for JavaScript has nothing for ${unity[0]}.${member}`)
      return `| ${other} | \`${member}\` |`
    })
    return [`| \`${javascript}\` | \`${unity[0]}\` |`, '|---|---|', ...rows, ...rest].join('\n')
  })
  const head = wrap(
    'Each member of the [library for Unity](../sdk/unity) beside that of `tierway/client`. Events are members, too.',
    '',
  )
  return ['## JavaScript and Unity', head, ...parts].join('\n\n')
}

export function printReference(): string {
  const parts = LIBRARIES.map(({ name, entry, guide, also }) =>
    [
      `## ${name}`,
      wrap(`The exports of \`${name}\`${also}. Its guide is [${guide.replace(/#.*/, '')}](${guide}).`, ''),
      ...exportsOf(entry).map(sectionOf),
    ].join('\n\n'),
  )
  const head =
    '<!-- Written by `npm run schema` from the docstrings of the libraries. Change those instead. -->\n\n# Reference of the libraries'
  return `${[head, ...parts, printPairs()].join('\n\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync('docs/reference.md', printReference())
