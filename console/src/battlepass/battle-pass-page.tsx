import { Page } from '../ui/page.tsx'

export default function BattlePassPage() {
  return <Page title="Battle pass">{null}</Page>
}
