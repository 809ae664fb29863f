import { Page } from '../ui/page.tsx'

export default function LivePage() {
  return <Page title="Live">{null}</Page>
}
