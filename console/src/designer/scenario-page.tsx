import { Page } from '../ui/page.tsx'

export default function ScenarioPage() {
  return <Page title="Scenario">{null}</Page>
}
