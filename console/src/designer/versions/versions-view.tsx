import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Button, RoleButton } from '../../ui/button.tsx'
import { withParameters } from '../../ui/filters.tsx'
import { SelectField } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty, Failed, Loading } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { number } from '../../ui/words.ts'
import { usePublications } from '../draft/use-publications.ts'
import { describeChanges } from '../model/words.ts'
import { versionsQuery } from '../operations.ts'
import { ChangeList } from '../review/change-list.tsx'
import css from '../review/review.module.css'
import { GoBackDialog } from './go-back-dialog.tsx'
import { PlannedPublications } from './planned.tsx'
import { useVersion } from './use-version.ts'

/** Every published version, the differences of any two, and the way back to one. */
export function VersionsView({ environment, scenarioId }: { environment: string; scenarioId: string }) {
  const [search, setSearch] = useSearchParams()
  const [back, setBack] = useState<number>()
  const publications = usePublications(environment, scenarioId)
  const pages = usePages({
    query: versionsQuery,
    variables: { environment, scenarioId },
    connectionOf: (data) => data.scenarioVersions,
    additionalTypenames: ['ScenarioVersion'],
  })
  const { rows } = pages
  const current = rows.find(({ isCurrent }) => isCurrent)?.version
  const known = new Set(rows.map(({ version }) => version))
  const pick = (name: string, otherwise: number | undefined) => {
    const asked = Number(search.get(name))
    return Number.isInteger(asked) && asked > 0 ? asked : otherwise
  }
  const to = pick('to', current)
  const from = pick('from', current === undefined || current < 2 ? undefined : current - 1)
  const compare = (versions: { from?: string; to?: string }) => setSearch((before) => withParameters(before, versions))
  const choose = (name: string) => (version: string) => compare({ [name]: version })
  /** A version is not compared with itself. */
  const optionsBut = (other: number) =>
    [...new Set([...known, from, to])]
      .filter((one) => one !== undefined && one !== other)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => [String(version), `Version ${version}`] as const)

  return (
    <>
      <PlannedPublications environment={environment} scenarioId={scenarioId} />
      <Panel title="Versions">
        <PagedTable
          caption="Versions"
          pages={pages}
          keyOf={({ version }) => String(version)}
          empty={<Empty title="Nothing is published yet">Publish the draft to make version 1.</Empty>}
          columns={[
            {
              title: 'Version',
              cell: ({ version, isCurrent }) => (
                <>
                  {version} {isCurrent && <span className="badge good">current</span>}
                </>
              ),
            },
            { title: 'Published', cell: ({ publishedAt }) => <Time at={publishedAt} /> },
            { title: 'By', cell: ({ version }) => publications.get(version)?.who ?? <span className="muted">–</span> },
            { title: 'Reason', cell: ({ version }) => publications.get(version)?.reason ?? '' },
            { title: 'Bytes', cell: ({ bytes }) => number(bytes), isNumber: true },
            {
              title: 'Actions',
              cell: ({ version, isCurrent }) => (
                <div className="actions">
                  {!isCurrent && (
                    <>
                      <Button
                        onClick={() => compare({ from: String(version), to: String(current) })}
                        label={`Compare version ${version} with the current one`}
                      >
                        Compare
                      </Button>
                      <RoleButton
                        needs="design"
                        onClick={() => setBack(version)}
                        label={`Go back to version ${version}`}
                      >
                        Go back
                      </RoleButton>
                    </>
                  )}
                </div>
              ),
            },
          ]}
        />
      </Panel>
      {from !== undefined && to !== undefined && from !== to && (
        <Panel title={`What version ${to} changed from version ${from}`}>
          <div className={css.compare}>
            <SelectField
              label="From"
              name="from"
              value={String(from)}
              onChange={choose('from')}
              options={optionsBut(to)}
            />
            <SelectField label="To" name="to" value={String(to)} onChange={choose('to')} options={optionsBut(from)} />
          </div>
          <Comparison key={`${from} ${to}`} environment={environment} scenarioId={scenarioId} from={from} to={to} />
        </Panel>
      )}
      {back !== undefined && current !== undefined && (
        <GoBackDialog
          environment={environment}
          scenarioId={scenarioId}
          version={back}
          current={current}
          onClose={() => setBack(undefined)}
        />
      )}
    </>
  )
}

function Comparison(props: { environment: string; scenarioId: string; from: number; to: number }) {
  const { environment, scenarioId, from, to } = props
  const [one, two] = [useVersion(environment, scenarioId, from), useVersion(environment, scenarioId, to)]
  const changes = useMemo(
    () => (one.version && two.version ? describeChanges(one.version.text, two.version.text) : undefined),
    [one.version, two.version],
  )
  const error = one.error ?? two.error
  if (error) return <Failed error={error} />
  if (!one.version || !two.version) return <Loading what="Comparing" />
  return <ChangeList changes={changes} />
}
