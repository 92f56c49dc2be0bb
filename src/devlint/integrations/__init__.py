"""devlint inside of other tools: importing one of these modules imports that tool."""
