import { useEffect, useState } from 'react'
import { Link, Redirect, useLocation, useSearchParams } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { usePathParameters } from '../ui/address.ts'
import { Button, RoleButton } from '../ui/button.tsx'
import { onDemand } from '../ui/on-demand.tsx'
import { Page } from '../ui/page.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { Empty, Failed, Loading, Notice } from '../ui/states.tsx'
import { type Draft, useDraftState } from './draft/draft.ts'
import { DraftNotices } from './draft/draft-notices.tsx'
import { type OpenedDraft, useDraft } from './draft/use-draft.ts'
import { keyOf } from './graph/card.ts'
import type { Definition } from './model/definition.ts'
import { ProblemList } from './problems/problem-list.tsx'
import { cellOf, type Problem } from './problems/problems.ts'
import { ProblemsProvider, useCheck } from './problems/use-problems.ts'
import { ReviewView } from './review/review-view.tsx'
import { Discussion } from './shared/discussion.tsx'
import { ShareDialog } from './shared/share-dialog.tsx'
import { SharedNotices } from './shared/shared-notices.tsx'
import { useSharedDraft } from './shared/use-shared-draft.ts'
import { TableView } from './table/table-view.tsx'
import { type Path, printPath, readPath } from './text/json-path.ts'
import { CloneDialog } from './versions/clone-dialog.tsx'
import { VersionsView } from './versions/versions-view.tsx'

const GraphView = onDemand(() => import('./graph/graph-view.tsx'))
const JsonView = onDemand(() => import('./json/json-view.tsx'))

const TABS = [
  ['graph', 'Graph'],
  ['table', 'Table'],
  ['json', 'JSON'],
  ['review', 'Review and publish'],
  ['versions', 'Versions'],
] as const
type Tab = (typeof TABS)[number][0]

export default function ScenarioPage() {
  const environment = useEnvironment()
  const { scenarioId = '', tab } = usePathParameters()
  const opened = useDraft(environment, scenarioId)
  const { draft, current, error, reload } = opened
  const known = TABS.find(([name]) => name === tab)?.[0]
  const address = `/env/${environment}/scenarios/${encodeURIComponent(scenarioId)}`
  if (known === undefined) return <Redirect to={`${address}/graph${location.search}`} replace />
  if (draft && current)
    return (
      <Designer
        draft={draft}
        current={current}
        tab={known}
        scenarioId={scenarioId}
        address={address}
        onReload={reload}
      />
    )
  return (
    <Page title={scenarioId}>
      {error ? (
        <Failed error={error} onRetry={reload} />
      ) : current?.version === 0 ? (
        <Empty title={`There is no scenario ${scenarioId} in ${environment}`}>
          <Link href={`/env/${environment}/scenarios`}>All scenarios</Link>
        </Empty>
      ) : (
        <Loading />
      )}
    </Page>
  )
}

function Designer(props: {
  readonly draft: Draft
  readonly current: NonNullable<OpenedDraft['current']>
  readonly tab: Tab
  readonly scenarioId: string
  readonly address: string
  readonly onReload: () => void
}) {
  const { draft, current, tab, scenarioId, address, onReload } = props
  const environment = useEnvironment()
  const state = useDraftState(draft)
  const check = useCheck(environment, state)
  const [isCloning, setCloning] = useState(false)
  const [isSharing, setSharing] = useState(false)
  const sharing = useSharedDraft(draft, environment, scenarioId)
  const { base, isChanged, history, read, shared } = state
  useUndoKeys(draft)
  return (
    <Page
      title={scenarioId}
      actions={
        <>
          <span className={isChanged ? 'badge warn' : 'badge'}>
            {isChanged
              ? base.version === 0
                ? 'draft, not published'
                : `draft based on version ${base.version}`
              : `version ${base.version}`}
          </span>
          <Button onClick={() => draft.undo()} disabled={history.done.length === 0}>
            Undo
          </Button>
          <Button onClick={() => draft.redo()} disabled={history.undone.length === 0}>
            Redo
          </Button>
          {isChanged && !shared && (
            <RoleButton needs="design" onClick={() => setSharing(true)}>
              Share…
            </RoleButton>
          )}
          {current.version > 0 && (
            <RoleButton needs="design" onClick={() => setCloning(true)}>
              Clone
            </RoleButton>
          )}
        </>
      }
    >
      <SharedNotices local={draft} environment={environment} scenarioId={scenarioId} sharing={sharing} />
      <DraftNotices draft={draft} environment={environment} scenarioId={scenarioId} current={current} />
      <section className="tabs" aria-label="Views">
        {TABS.map(([name, title]) => (
          <Link key={name} href={`${address}/${name}`} aria-current={name === tab ? 'page' : undefined}>
            {title}
          </Link>
        ))}
      </section>
      <ProblemsProvider value={check.problems}>
        {tab === 'versions' ? (
          <VersionsView environment={environment} scenarioId={scenarioId} />
        ) : tab === 'review' ? (
          <>
            <ReviewView
              draft={draft}
              environment={environment}
              scenarioId={scenarioId}
              check={check}
              currentVersion={current.version}
              shared={sharing.draft ?? null}
              onConflict={onReload}
            />
            {sharing.draft && <Discussion environment={environment} draft={sharing.draft} onChange={sharing.look} />}
            <Problems check={check} tab={tab} address={address} />
          </>
        ) : (
          <>
            {read.fault && tab !== 'json' && (
              <Notice tone="error">
                The text is not JSON now, so this view shows it as it was before. Fix it in the{' '}
                <Link href={`${address}/json`}>JSON</Link> view. {read.fault.message}
              </Notice>
            )}
            <View draft={draft} tab={tab} address={address} problems={check.problems} />
            <Problems check={check} tab={tab} address={address} />
          </>
        )}
      </ProblemsProvider>
      {isSharing && (
        <ShareDialog
          local={draft}
          environment={environment}
          scenarioId={scenarioId}
          onClose={() => setSharing(false)}
        />
      )}
      {isCloning && (
        <CloneDialog
          environment={environment}
          scenarioId={scenarioId}
          version={current.version}
          onClose={() => setCloning(false)}
        />
      )}
    </Page>
  )
}

/** The graph, the table or the text. The place that a person looks at is the same in all three: `at` of the address. */
function View(props: {
  readonly draft: Draft
  readonly tab: Tab
  readonly address: string
  readonly problems: readonly Problem[]
}) {
  const { draft, tab, address, problems } = props
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const { besideGraph } = usePreferences()
  const { read, lastRead } = useDraftState(draft)
  const definition = read.definition ?? lastRead
  const at = search.get('at') ?? undefined
  const path = readPath(at ?? '')
  const node = path[0] === 'nodes' ? definition?.nodes.find(({ index }) => index === path[1]) : undefined
  const edge = path[0] === 'edges' && typeof path[1] === 'number' ? definition?.edges[path[1]] : undefined

  const text = { draft, problems, at, jump: Number(search.get('jump') ?? 0) }
  if (tab === 'json') return <JsonView {...text} />
  if (!definition)
    return (
      <Empty title="This text is not a definition">
        <Link href={`${address}/json`}>Fix it in the JSON view</Link>
      </Empty>
    )
  const look = (to: string | undefined) => setSearch(to === undefined ? {} : { at: to }, { replace: true })
  const idOf = (id: string) => definition.byId.get(id)?.index
  if (tab === 'table')
    return (
      <TableView
        draft={draft}
        definition={definition}
        problems={problems}
        passId={node?.type === 'battle-pass' ? node.id : undefined}
        onPass={(id) => look(`nodes[${idOf(id)}]`)}
        target={targetOf(definition, path)}
        jump={text.jump}
      />
    )
  return (
    <GraphView
      draft={draft}
      definition={definition}
      problems={problems}
      selected={node ? keyOf(definition, node) : edge?.from}
      onSelect={(key) => {
        // After an edit, the node may be one that this drawing does not have yet.
        const latest = draft.now().read.definition ?? definition
        const found = key === undefined ? undefined : latest.nodes.find((one) => keyOf(latest, one) === key)
        look(found && printPath(['nodes', found.index]))
      }}
      onOpenTable={(id) => navigate(`${address}/table?at=nodes[${idOf(id)}]`)}
      onOpenJson={(to) => navigate(`${address}/json?at=${encodeURIComponent(to)}`)}
      json={besideGraph === 'json' ? <JsonView {...text} isBeside /> : undefined}
    />
  )
}

/** The cell of a place. */
function targetOf(definition: Definition, path: Path) {
  const cell = cellOf(definition, path)
  const [, , , list, index] = path
  return cell && { ...cell, index: list === 'levels' && typeof index === 'number' ? index : undefined }
}

function Problems({ check, tab, address }: { check: ReturnType<typeof useCheck>; tab: Tab; address: string }) {
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  return (
    <ProblemList
      check={check}
      onJump={({ pathText, cell }) => {
        // A place that the view does not show is shown in the JSON.
        const isShown = tab === 'graph' ? pathText !== '' : tab === 'table' && cell !== undefined
        const jump = Number(search.get('jump') ?? 0) + 1
        navigate(`${address}/${isShown ? tab : 'json'}?${new URLSearchParams({ at: pathText, jump: String(jump) })}`)
      }}
    />
  )
}

/** Ctrl Z and Ctrl Shift Z, anywhere in the page. The browser undoes text that is not in the draft yet. */
function useUndoKeys(draft: Draft): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return
      const target = event.target instanceof HTMLElement ? event.target : undefined
      if (target?.closest('dialog, [data-is-unfit]')) return
      const key = event.key.toLowerCase()
      const isRedo = key === 'y' || (key === 'z' && event.shiftKey)
      if (key !== 'z' && !isRedo) return
      event.preventDefault()
      if (isRedo) draft.redo()
      else draft.undo()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [draft])
}
